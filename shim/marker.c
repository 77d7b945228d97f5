#include "marker.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "entry.h"
#include "match.h"
#include "post.h"
#include "signal.h"
#include "sys.h"

enum {
    MARKER_COPIES = 4096, /* descriptors above are not seen as copies of stdout or stderr */
    MARKER_INHERITED = 256 /* up to here they are looked at when the program starts */
};

/* All of it runs on host threads, in handlers too, with libc's locks held: memory is read and atomically written, and only
 * where a text is found, a copy written to, or a file opened for writing, anything is asked of the kernel: a host that has shut
 * itself in may be killed for a system call that is not its own. So a child made by vfork does not learn that it is one, and the
 * begin of a text that it writes without the end of its line counts as its parent's; it posts nothing. */
static struct {
    struct match match;
    struct match_stream stream[2];
    uint8_t event[MATCH_TEXTS]; /* whose text it is, as post counts them */
    /* Descriptors that were made as copies of 1 or 2, or of such a one, or opened and were the same file (/dev/stdout), a bit
     * each. They may be other files by now, as may 1 and 2: that is asked at each write, which is why it is kept of which it
     * is worth while to ask. */
    uint8_t copies[MARKER_COPIES / 8];
} marker;

static struct {
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*write_nocancel)(int, const void *, size_t);
    ssize_t (*writev)(int, const struct iovec *, int);
    ssize_t (*pwritev2)(int, const struct iovec *, int, off_t, int);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    ssize_t (*sendmsg)(int, const struct msghdr *, int);
    int (*dup)(int);
    int (*dup2)(int, int);
    int (*dup3)(int, int, int);
    int (*fcntl)(int, int, long);
    int (*open)(const char *, int, mode_t);
    int (*openat)(int, const char *, int, mode_t);
} marker_real;

static bool marker_is_copy(int fd)
{
    return fd >= 0 && fd < MARKER_COPIES && __atomic_load_n(&marker.copies[fd / 8], __ATOMIC_RELAXED) >> fd % 8 & 1;
}

/* Which of the two it is now, by device and inode; NULL: none. */
static struct match_stream *marker_same(int fd)
{
    struct stat copy, standard;

    if (sys2(SYS_fstat, fd, &copy) == 0)
        for (int i = 1; i <= 2; i++)
            if (sys2(SYS_fstat, i, &standard) == 0 && copy.st_dev == standard.st_dev && copy.st_ino == standard.st_ino)
                return &marker.stream[i - 1];
    return NULL;
}

/* NULL: not one to be searched. */
static struct match_stream *marker_stream(int fd)
{
    struct match_stream *s;

    if (fd == 1 || fd == 2)
        return &marker.stream[fd - 1];
    if (!marker_is_copy(fd))
        return NULL;
    s = marker_same(fd);
    if (!s)
        __atomic_fetch_and(&marker.copies[fd / 8], (uint8_t)~(1U << fd % 8), __ATOMIC_RELAXED);
    return s;
}

static void marker_copied(int from, int to)
{
    if (to >= 0 && to < MARKER_COPIES && (from == 1 || from == 2 || marker_is_copy(from)))
        __atomic_fetch_or(&marker.copies[to / 8], (uint8_t)(1U << to % 8), __ATOMIC_RELAXED);
}

static void marker_opened(int fd, int flags)
{
    if (fd > 2 && (flags & O_ACCMODE) != O_RDONLY && marker_same(fd))
        marker_copied(1, fd);
}

static void marker_fire(uint32_t found)
{
    if (found && post_is_own_thread(post_look()))
        return;
    for (; found; found &= found - 1)
        signal_post(marker.event[__builtin_ctz(found)]);
}

static void marker_wrote(int fd, const void *data, ssize_t done)
{
    struct match_stream *s = done > 0 ? marker_stream(fd) : NULL;

    if (s)
        marker_fire(match_feed(&marker.match, s, data, (size_t)done));
}

static void marker_wrote_parts(int fd, const struct iovec *parts, size_t n, ssize_t done)
{
    struct match_stream *s = done > 0 ? marker_stream(fd) : NULL;
    size_t left = (size_t)done;
    uint32_t found = 0;

    for (size_t i = 0; s && i < n && left; i++) {
        size_t part = parts[i].iov_len < left ? parts[i].iov_len : left;
        found |= match_feed(&marker.match, s, parts[i].iov_base, part);
        left -= part;
    }
    marker_fire(found);
}

static ssize_t marker_write(int fd, const void *data, size_t n)
{
    ssize_t done = marker_real.write(fd, data, n);

    marker_wrote(fd, data, done);
    return done;
}

static ssize_t marker_write_nocancel(int fd, const void *data, size_t n)
{
    ssize_t done = marker_real.write_nocancel(fd, data, n);

    marker_wrote(fd, data, done);
    return done;
}

static ssize_t marker_writev(int fd, const struct iovec *parts, int n)
{
    ssize_t done = marker_real.writev(fd, parts, n);

    marker_wrote_parts(fd, parts, (size_t)n, done);
    return done;
}

static ssize_t marker_pwritev2(int fd, const struct iovec *parts, int n, off_t offset, int flags)
{
    ssize_t done = marker_real.pwritev2(fd, parts, n, offset, flags);

    marker_wrote_parts(fd, parts, (size_t)n, done);
    return done;
}

static ssize_t marker_send(int fd, const void *data, size_t n, int flags)
{
    ssize_t done = marker_real.send(fd, data, n, flags);

    marker_wrote(fd, data, done);
    return done;
}

static ssize_t marker_sendto(int fd, const void *data, size_t n, int flags, const struct sockaddr *to, socklen_t size)
{
    ssize_t done = marker_real.sendto(fd, data, n, flags, to, size);

    marker_wrote(fd, data, done);
    return done;
}

static ssize_t marker_sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t done = marker_real.sendmsg(fd, message, flags);

    if (done > 0)
        marker_wrote_parts(fd, message->msg_iov, message->msg_iovlen, done);
    return done;
}

static int marker_dup(int fd)
{
    int copy = marker_real.dup(fd);

    marker_copied(fd, copy);
    return copy;
}

static int marker_dup2(int fd, int to)
{
    int copy = marker_real.dup2(fd, to);

    marker_copied(fd, copy);
    return copy;
}

static int marker_dup3(int fd, int to, int flags)
{
    int copy = marker_real.dup3(fd, to, flags);

    marker_copied(fd, copy);
    return copy;
}

/* libc's takes its third argument whether it was given or not, and those of open and openat when it is there. */
static int marker_fcntl(int fd, int command, long argument)
{
    int result = marker_real.fcntl(fd, command, argument);

    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        marker_copied(fd, result);
    return result;
}

static int marker_open(const char *path, int flags, mode_t mode)
{
    int fd = marker_real.open(path, flags, mode);

    marker_opened(fd, flags);
    return fd;
}

static int marker_openat(int folder, const char *path, int flags, mode_t mode)
{
    int fd = marker_real.openat(folder, path, flags, mode);

    marker_opened(fd, flags);
    return fd;
}

#define MARKER_ENTRY(name) {#name, (const void *)(uintptr_t)marker_##name, (const void **)&marker_real.name}
static const struct entry marker_entries[] = {
    MARKER_ENTRY(write),
    {"__write_nocancel", (const void *)(uintptr_t)marker_write_nocancel, (const void **)&marker_real.write_nocancel},
    MARKER_ENTRY(writev), MARKER_ENTRY(pwritev2), MARKER_ENTRY(send), MARKER_ENTRY(sendto), MARKER_ENTRY(sendmsg),
    MARKER_ENTRY(dup), MARKER_ENTRY(dup2), MARKER_ENTRY(dup3), MARKER_ENTRY(fcntl),
    MARKER_ENTRY(open), MARKER_ENTRY(openat), /* open64 and openat64 are the same code */
};

void marker_start(const struct event *events, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (events[i].kind == EVENT_LOG && match_add(&marker.match, events[i].argument) == 0)
            marker.event[marker.match.n_texts - 1] = (uint8_t)(i + 1);
    if (!marker.match.n_texts)
        return;
    for (int fd = 0; fd < MARKER_INHERITED; fd++)
        if (fd != 1 && fd != 2 && marker_same(fd))
            marker_copied(1, fd);
    entry_replace(marker_entries, sizeof marker_entries / sizeof *marker_entries, "log:");
}
