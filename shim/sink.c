#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "inherit.h"
#include "options.h"
#include "preload.h"
#include "sys.h"
#include "text.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#define SINK_MASK_BYTES 8 /* the kernel's sigset_t */

static enum option_log sink_target;
static char sink_pattern[SINK_PATH_MAX];
static char sink_program[64];
/* What descriptor 2 was when we started. A host that closes it may get the number again for a file of its own, and a
 * line of ours in a database is worse than a lost one. */
static bool sink_stderr_known;
static dev_t sink_stderr_device;
static ino_t sink_stderr_inode;
static bool sink_torn; /* the last line in the file is incomplete: begin the next one on a new line */

void sink_start(const struct settings *s, const char *program)
{
    struct text name;
    struct stat st;

    sink_target = s->log;
    text_init(&name, sink_program, sizeof sink_program);
    text_str(&name, program);
    (void)inherit_absolute(s->log_path, sink_pattern, sizeof sink_pattern);
    if (sys2(SYS_fstat, 2, &st) == 0) {
        sink_stderr_known = true;
        sink_stderr_device = st.st_dev;
        sink_stderr_inode = st.st_ino;
    }
}

static bool sink_is_stderr(int fd)
{
    struct stat st;

    return sink_stderr_known && sys2(SYS_fstat, fd, &st) == 0 && st.st_dev == sink_stderr_device &&
           st.st_ino == sink_stderr_inode;
}

/* The host's descriptor 2, from a thread with a table of its own: it is fetched for each line and not kept, so that a
 * peer still sees the host close it. Before Linux 5.6 the file behind it is opened again, which works for all but
 * sockets. */
static int sink_fetch_stderr(void)
{
    int pid = (int)sys0(SYS_getpid);
    int handle = (int)sys2(SYS_pidfd_open, pid, 0);
    int fd = handle;

    if (handle >= 0) {
        fd = (int)sys3(SYS_pidfd_getfd, handle, 2, 0);
        sys1(SYS_close, handle);
    }
    if (fd < 0 && fd != -EBADF) {
        char path[40];
        struct text t;

        text_init(&t, path, sizeof path);
        text_str(&t, "/proc/");
        text_u64(&t, (uint64_t)pid);
        text_str(&t, "/fd/2");
        fd = (int)sys4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    }
    return fd;
}

/* The host's stderr, if it still is the file that it was. */
static int sink_open_stderr(bool own_table)
{
    int fd = own_table ? sink_fetch_stderr() : 2;

    if (fd < 0 || sink_is_stderr(fd))
        return fd;
    if (own_table)
        sys1(SYS_close, fd);
    return -EBADF;
}

__attribute__((noinline)) static int sink_open(bool own_table)
{
    char path[SINK_PATH_MAX];
    int bad;

    if (sink_target != OPTION_LOG_PATH)
        return sink_open_stderr(own_table);
    bad = preload_expand(sink_pattern, (int)sys0(SYS_getpid), sink_program, path, sizeof path);
    return bad ? bad
               : (int)sys4(SYS_openat, AT_FDCWD, path,
                           O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
}

/* Could a write block, or raise SIGPIPE? A full pipe: the host's writers would have to wait, we do not. */
static int sink_ready(int fd)
{
    struct pollfd writable = {fd, POLLOUT, 0};
#ifdef SYS_poll
    long r = sys3(SYS_poll, &writable, 1, 0);
#else
    struct timespec at_once = {0, 0};
    long r = sys5(SYS_ppoll, &writable, 1, &at_once, NULL, 0);
#endif
    return r == 0 ? -EAGAIN : r > 0 && (writable.revents & POLLERR) ? -EPIPE : r > 0 ? 0 : (int)r;
}

/* One write, without SIGPIPE: the signal is blocked, and taken back if it was our write that raised it. */
static long sink_put(int fd, const char *line, size_t n)
{
    uint64_t pipe_only = UINT64_C(1) << (SIGPIPE - 1), before, pending = 0;
    struct timespec at_once = {0, 0};
    long r = sink_ready(fd);

    if (r < 0)
        return r;
    sys4(SYS_rt_sigprocmask, SIG_BLOCK, &pipe_only, &before, SINK_MASK_BYTES);
    sys2(SYS_rt_sigpending, &pending, SINK_MASK_BYTES);
    r = sys3(SYS_write, fd, line, n);
    if (r == -EPIPE && !(pending & pipe_only))
        sys4(SYS_rt_sigtimedwait, &pipe_only, NULL, &at_once, SINK_MASK_BYTES);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, SINK_MASK_BYTES);
    return r;
}

int sink_write(const char *line, size_t n, bool own_table)
{
    if (sink_target == OPTION_LOG_NONE)
        return 0;
    int fd = sink_open(own_table);
    if (fd < 0)
        return fd;
    if (sink_torn)
        sink_torn = sink_put(fd, "\n", 1) != 1;
    long r = sink_put(fd, line, n);
    if (r > 0 && (size_t)r < n)
        sink_torn = true;
    if (fd != 2 || own_table)
        sys1(SYS_close, fd);
    return r < 0 ? (int)r : (size_t)r < n ? -ENOSPC : 0;
}

void sink_write_restricted(const char *line, size_t n)
{
    if (sink_target == OPTION_LOG_STDERR && sink_is_stderr(2) && sink_ready(2) == 0)
        sys3(SYS_write, 2, line, n);
}

int sink_write_stderr(const char *line, size_t n)
{
    int fd = sink_open_stderr(true);
    long r = fd;

    if (fd >= 0) {
        r = sink_put(fd, line, n);
        sys1(SYS_close, fd);
    }
    return r < 0 ? (int)r : 0;
}

const char *sink_path(void)
{
    return sink_target == OPTION_LOG_PATH ? sink_pattern : NULL;
}
