#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "place.h"
#include "sys.h"
#include "watch.h"

#define FIFO_PIECE 4096
#define FIFO_PIECES 16 /* a full FIFO in one look */

/* The file, as a descriptor, or -errno; *wrong: why it is not taken. Looked at before it is opened, since opening a device can
 * do something, and locked, since of two readers each would get some of the lines. */
static int event_fifo_take(struct watch *w, const char **wrong)
{
    struct folder_file *f = &w->file;
    struct stat st, opened;

    int made = (int)sys4(SYS_mknodat, f->folder, f->name, S_IFIFO | 0600, 0);
    if (made == 0) {
        sys3(SYS_fchmodat, f->folder, f->name, 0600); /* whatever the host's umask says */
        folder_made(f);
    }
    int error = folder_stat(f, f->name, &st);
    if (error)
        return made ? made : error;
    *wrong = place_file_wrong(&st, (unsigned)sys0(SYS_geteuid), S_IFIFO);
    if (*wrong)
        return -EPERM;
    /* O_RDWR: without a writer a reader alone would be told POLLHUP for ever. */
    int fd = (int)sys4(SYS_openat, f->folder, f->name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0);
    if (fd < 0)
        return fd;
    if (sys2(SYS_fstat, fd, &opened) != 0 || opened.st_ino != st.st_ino || opened.st_dev != st.st_dev)
        *wrong = "was replaced meanwhile";
    else if (sys2(SYS_flock, fd, LOCK_EX | LOCK_NB) == -EWOULDBLOCK)
        *wrong = "another process reads from it; with %p in the path each has its own";
    if (!*wrong)
        return fd;
    sys1(SYS_close, fd);
    return -EPERM;
}

static void event_fifo_open(struct watch *w, int64_t now, bool first)
{
    const char *wrong = NULL;
    char path[2048];

    (void)now, (void)first;
    w->due = WATCH_NEVER;
    if (watch_of()->forked && !watch_path_is_own(w)) /* it is the parent's */
        return;
    const char *where = "its folder ";
    int fd = watch_path(w, path, sizeof path);
    if (fd == 0)
        fd = folder_open_of(&w->file, path, &wrong);
    if (fd == 0) {
        where = "";
        fd = event_fifo_take(w, &wrong);
    }
    if (fd < 0)
        watch_refuse(w, where, wrong, fd);
    else
        w->fd = fd;
}

static void event_fifo_look(struct watch *w, int64_t now, short ready)
{
    char bytes[FIFO_PIECE];
    size_t lines = 0;

    (void)now, (void)ready;
    for (int i = 0; i < FIFO_PIECES; i++) {
        long n = sys3(SYS_read, w->fd, bytes, sizeof bytes);

        if (n > 0) {
            lines += watch_lines_take(w, bytes, (size_t)n);
            continue;
        }
        if (n == 0 || (n != -EAGAIN && n != -EINTR)) {
            watch_say(w, "cannot be read any more", (int)n);
            watch_end(w);
        }
        break;
    }
    if (lines)
        watch_fire_times(w, lines);
}

static void event_fifo_close(struct watch *w, bool ending)
{
    if (ending)
        folder_remove(&w->file);
}

const struct watch_kind event_fifo = {.open = event_fifo_open,
                                      .look = event_fifo_look,
                                      .acted = watch_lines_acted,
                                      .begin = watch_lines_begin,
                                      .close = event_fifo_close};
