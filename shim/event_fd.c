#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "inherit.h"
#include "sys.h"
#include "watch.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif
#define FD_PIECE 4096
#define FD_PIECES 16 /* a full pipe in one look */

/* Another way to the same pipe, with O_NONBLOCK of its own: the flag of the one that was given belongs to the host too. The number
 * itself where that is not possible (a pipe of another user's, no /proc). */
static int event_fd_reopen(int number)
{
    char path[48];
    struct text t;

    text_init(&t, path, sizeof path);
    text_str(&t, "/proc/thread-self/fd/");
    text_i64(&t, number);
    int fd = (int)sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0)
        return number;
    sys1(SYS_close, number);
    return fd;
}

/* The process that was started with the descriptor reads it, and no forked child. */
static void event_fd_open(struct watch *w, int64_t now, bool first)
{
    int number = (int)w->event->amount;
    bool same;

    (void)now;
    w->due = WATCH_NEVER;
    if (watch_of()->forked || (!first && w->lines.lost))
        return;
    enum inherit_kind kind = inherit_check(number, &same);
    w->lines.lost = true;
    if (kind == INHERIT_CLOSED)
        watch_say(w, "was not open when the program started", 0);
    else if (kind == INHERIT_WRONG)
        watch_say(w, "is no pipe, socket or eventfd that can be read", 0);
    else if (!same)
        watch_say(w, "was closed by the program before it could be read: no events from it", 0);
    else {
        w->lines.lost = false;
        w->fd = kind == INHERIT_PIPE ? event_fd_reopen(number) : number;
        return;
    }
    if (kind != INHERIT_CLOSED)
        sys1(SYS_close, number);
}

/* Never blocks, whatever flags the host has set: a socket by a flag of the call, the others by RWF_NOWAIT. A kernel that does not
 * know that for a pipe or eventfd (before Linux 6.5, 5.13) reads what poll has announced, which only another reader could have
 * taken in between. */
static long event_fd_read(int fd, void *buffer, size_t n)
{
    struct iovec piece = {buffer, n};
    long r = sys4(SYS_recvfrom, fd, buffer, n, MSG_DONTWAIT);

    if (r != -ENOTSOCK)
        return r;
    r = sys6(SYS_preadv2, fd, (long)&piece, 1, -1, -1, RWF_NOWAIT);
    return r == -EOPNOTSUPP || r == -ENOSYS || r == -EINVAL ? sys3(SYS_read, fd, buffer, n) : r;
}

static void event_fd_look(struct watch *w, int64_t now, short ready)
{
    char bytes[FD_PIECE];
    long n = 0;
    size_t lines = 0;
    bool any = false;

    (void)now;
    for (int i = 0; i < FD_PIECES; i++) {
        struct pollfd more = {w->fd, POLLIN, 0};
        struct timespec at_once = {0, 0};

        if (i && sys5(SYS_ppoll, &more, 1, &at_once, NULL, 0) != 1)
            break;
        n = event_fd_read(w->fd, bytes, sizeof bytes);
        if (n <= 0)
            break;
        any = true;
        lines += watch_lines_take(w, bytes, (size_t)n);
    }
    if (any)
        watch_fire_times(w, lines ? lines : 1);
    if (n > 0 || n == -EAGAIN || n == -EINTR) {
        if (n > 0 || !(ready & (POLLHUP | POLLERR | POLLNVAL)))
            return;
        n = 0;
    }
    w->lines.lost = true;
    watch_say(w, n ? "cannot be read any more" : "its other end is closed: no more events from it", (int)-n);
    watch_end(w);
}

const struct watch_kind event_fd = {.open = event_fd_open, .look = event_fd_look, .acted = watch_lines_acted, .begin = watch_lines_begin};
