#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "notice.h"
#include "pressure.h"
#include "sys.h"
#include "text.h"
#include "watch.h"

#define PRESSURE_DATA_MAX 4096
#define PRESSURE_REST_NS INT64_C(100000000)   /* a FIFO or socket is not looked at again sooner, however much comes */
#define PRESSURE_AGAIN_NS INT64_C(10000000000) /* what breaks sooner after its opening is opened again, */
#define PRESSURE_TRIES 3                       /* so often */

/* What systemd's protocol says (systemd.io/MEMORY_PRESSURE), copied: a host may overwrite its environment. */
static struct {
    const char *wrong; /* what of it cannot be used */
    char path[PATH_MAX]; /* "": nothing said */
    size_t n;
    unsigned char data[PRESSURE_DATA_MAX];
} pressure_asked;

static bool pressure_said; /* a forked child does not say again what its parent said */

static const char *pressure_value(const char *entry, const char *name)
{
    size_t n = strlen(name);

    return strncmp(entry, name, n) == 0 && entry[n] == '=' && entry[n + 1] ? entry + n + 1 : NULL;
}

bool event_pressure_start(char *const *environment)
{
    const char *watch = NULL, *write = NULL, *value;
    struct text t;

    for (; environment && *environment; environment++) {
        if (!watch && (value = pressure_value(*environment, "MEMORY_PRESSURE_WATCH")))
            watch = value;
        if (!write && (value = pressure_value(*environment, "MEMORY_PRESSURE_WRITE")))
            write = value;
    }
    if (!watch)
        return true;
    if (strcmp(watch, "/dev/null") == 0)
        return false;
    text_init(&t, pressure_asked.path, sizeof pressure_asked.path);
    text_str(&t, watch);
    if (watch[0] != '/' || t.cut)
        pressure_asked.wrong = "MEMORY_PRESSURE_WATCH is no absolute path";
    long n = write ? pressure_decode(write, pressure_asked.data, sizeof pressure_asked.data) : 0;
    if (n < 0)
        pressure_asked.wrong = n == -ENOBUFS ? "MEMORY_PRESSURE_WRITE is longer than 4096 bytes" : "MEMORY_PRESSURE_WRITE is no Base64";
    pressure_asked.n = n < 0 ? 0 : (size_t)n;
    return true;
}

static void pressure_say(const char *what)
{
    if (!pressure_said)
        notice_worker(what);
    pressure_said = true;
}

/* PATH (EACCES) */
static void pressure_tried(struct text *tried, const char *path, long error)
{
    text_str(tried, tried->len ? ", " : "pressure: nothing to watch: ");
    text_printable(tried, path, 300);
    text_str(tried, " (");
    text_errno(tried, (int)-error);
    text_char(tried, ')');
}

/* Write all of it, which a file that was just opened takes at once. 0 or -errno; the descriptor is closed then. */
static int pressure_give(int fd, const void *data, size_t n)
{
    long r = n ? sys3(SYS_write, fd, data, n) : 0;

    if (r == (long)n)
        return 0;
    sys1(SYS_close, fd);
    return r < 0 ? (int)r : -EAGAIN;
}

static int pressure_connect(int path_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct text t;
    int fd = (int)sys3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return fd;
    /* A path may be longer than an address. */
    text_init(&t, address.sun_path, sizeof address.sun_path);
    text_str(&t, strlen(pressure_asked.path) < sizeof address.sun_path ? pressure_asked.path : "/proc/thread-self/fd/");
    if (t.len && t.at[t.len - 1] == '/')
        text_u64(&t, (uint64_t)path_fd);
    long r = sys3(SYS_connect, fd, &address, sizeof address);
    if (r < 0)
        sys1(SYS_close, fd);
    return r < 0 ? (int)r : fd;
}

/* Open what MEMORY_PRESSURE_WATCH names, after its kind. The descriptor or -errno. */
static int pressure_open_asked(struct watch *w)
{
    int path_fd = (int)sys4(SYS_openat, AT_FDCWD, pressure_asked.path, O_PATH | O_CLOEXEC, 0), fd = -ENODEV;
    struct stat at, st;

    if (path_fd < 0)
        return path_fd;
    if (sys2(SYS_fstat, path_fd, &at) < 0)
        at.st_mode = 0;
    w->pressure.psi = S_ISREG(at.st_mode);
    w->pressure.fifo = S_ISFIFO(at.st_mode);
    if (S_ISSOCK(at.st_mode)) {
        fd = pressure_connect(path_fd);
    } else if (S_ISREG(at.st_mode) || S_ISFIFO(at.st_mode)) {
        int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

        /* A FIFO that has this end as a writer too never reports that the last one went, which would be for ever. */
        fd = (int)sys4(SYS_openat, AT_FDCWD, pressure_asked.path, O_RDWR | flags, 0);
        if (fd == -EACCES && !pressure_asked.n)
            fd = (int)sys4(SYS_openat, AT_FDCWD, pressure_asked.path, O_RDONLY | flags, 0);
        if (fd >= 0 && (sys2(SYS_fstat, fd, &st) < 0 || st.st_ino != at.st_ino || st.st_dev != at.st_dev)) {
            sys1(SYS_close, fd);
            fd = -ESTALE; /* another one took its place meanwhile */
        }
    }
    sys1(SYS_close, path_fd);
    int error = fd < 0 ? fd : pressure_give(fd, pressure_asked.data, pressure_asked.n);
    return error ? error : fd;
}

static int pressure_open_psi(const char *path)
{
    static const char trigger[] = PRESSURE_TRIGGER; /* with its NUL */
    int fd = (int)sys4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    int error = fd < 0 ? fd : pressure_give(fd, trigger, sizeof trigger);

    return error ? error : fd;
}

/* The own cgroup's memory.pressure, by what mountinfo has. 0 or -errno. */
static int pressure_find(char *path, size_t size)
{
    char cgroup[1024], text[4096];
    int fd = (int)sys4(SYS_openat, AT_FDCWD, "/proc/thread-self/cgroup", O_RDONLY | O_CLOEXEC, 0);
    long n = fd < 0 ? fd : sys3(SYS_read, fd, text, sizeof text);
    int error = n < 0 ? (int)n : pressure_cgroup(text, (size_t)n, cgroup, sizeof cgroup);
    size_t kept = 0;

    if (fd >= 0)
        sys1(SYS_close, fd);
    if (error)
        return error;
    fd = (int)sys4(SYS_openat, AT_FDCWD, "/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    for (error = -ENOENT; error && (n = sys3(SYS_read, fd, text + kept, sizeof text - kept)) > 0;) {
        char *line = text, *end;

        for (kept += (size_t)n; error && (end = memchr(line, '\n', kept)); line = end + 1) {
            error = pressure_file(line, (size_t)(end - line), cgroup, path, size);
            kept -= (size_t)(end + 1 - line);
        }
        memmove(text, line, kept);
        if (kept == sizeof text) /* a line that long is an overlay's */
            kept = 0;
    }
    sys1(SYS_close, fd);
    return error;
}

/* The descriptor, or -1 and it is said. */
static int pressure_open_any(struct watch *w)
{
    static const char machine[] = "/proc/pressure/memory";
    char path[2048], line[600];
    struct text tried;
    int fd;

    text_init(&tried, line, sizeof line);
    if (pressure_asked.wrong) {
        text_str(&tried, "pressure: ");
        text_str(&tried, pressure_asked.wrong);
    } else if (pressure_asked.path[0]) {
        fd = pressure_open_asked(w);
        if (fd >= 0)
            return fd;
        pressure_tried(&tried, pressure_asked.path, fd);
    } else {
        w->pressure.psi = true;
        int error = pressure_find(path, sizeof path);
        fd = error ? error : pressure_open_psi(path);
        if (fd >= 0)
            return fd;
        pressure_tried(&tried, error ? "the own cgroup v2" : path, fd);
        fd = pressure_open_psi(machine);
        if (fd >= 0)
            return fd;
        pressure_tried(&tried, machine, fd);
    }
    pressure_say(line);
    return -1;
}

static void event_pressure_open(struct watch *w, int64_t now, bool first)
{
    (void)first;
    w->due = WATCH_NEVER;
    w->fd = w->pressure.fd = pressure_open_any(w);
    w->events = w->pressure.psi ? POLLPRI : POLLIN; /* the kernel's file is always readable */
    w->pressure.opened = now;
}

static void event_pressure_close(struct watch *w, bool ending)
{
    (void)ending;
    if (w->pressure.fd >= 0)
        sys1(SYS_close, w->pressure.fd);
    w->fd = w->pressure.fd = -1;
}

/* All that a pipe holds at most; what comes meanwhile is for the next look. How many bytes. */
static long pressure_drain(int fd)
{
    char bytes[4096];
    long all = 0, n = 0;

    for (int i = 0; i < 16 && (n = sys3(SYS_read, fd, bytes, sizeof bytes)) > 0; i++)
        all += n;
    return all;
}

/* However much comes, it is looked at ten times a second at most. */
static void pressure_rest(struct watch *w, int64_t now)
{
    w->fd = -1;
    w->due = now + PRESSURE_REST_NS;
}

/* The other end is gone (a service manager that starts anew), or the cgroup is, from which the process was moved before. A FIFO that
 * could only be opened for reading has an end whenever a writer goes. */
static void pressure_lost(struct watch *w, int64_t now)
{
    if (w->pressure.fifo || now - w->pressure.opened >= PRESSURE_AGAIN_NS)
        w->pressure.tries = 0;
    int old = w->pressure.fd; /* closed last: a pipe that nobody has open loses what a writer has left in it since */
    if (w->pressure.tries++ < PRESSURE_TRIES) {
        event_pressure_open(w, now, false);
        sys1(SYS_close, old);
        pressure_rest(w, now);
        return;
    }
    event_pressure_close(w, false);
    pressure_say(w->pressure.psi ? "pressure: its file reports nothing (no trigger was written), so it is not watched any more"
                                 : "pressure: the other end of MEMORY_PRESSURE_WATCH is closed again and again, so it is not watched any more");
}

static void event_pressure_look(struct watch *w, int64_t now, short ready)
{
    bool came = ready & (w->pressure.psi ? POLLPRI : POLLIN);

    w->due = WATCH_NEVER;
    w->fd = w->pressure.fd;
    if (!ready)
        return;
    if (ready & POLLERR && w->pressure.psi)
        came = false;
    else if (came && !w->pressure.psi)
        came = pressure_drain(w->fd) > 0; /* nothing: a socket's end */
    if (!came) {
        pressure_lost(w, now);
        return;
    }
    watch_fire(w);
    if (!w->pressure.psi) /* the kernel's file reports once a window */
        pressure_rest(w, now);
}

const struct watch_kind event_pressure = {.open = event_pressure_open, .look = event_pressure_look, .close = event_pressure_close};
