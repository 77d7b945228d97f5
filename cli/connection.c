/* connection: see connection.h. */
#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "place.h"
#include "preload.h"
#include "text.h"

#define ANSWER_MOST (64 << 10)

/* Through a descriptor, since an address takes 107 bytes. Of a process in another pid namespace the kernel gives the id that it has
 * here. Whoever else listens at that path is not whom the user means. */
static int connect_to(const struct process *p, const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t n = sizeof peer;
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0)
        return -errno;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    (void)snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d", file);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
        error = errno;
    else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0 || peer.pid != p->pid)
        error = ESTALE;
    close(file);
    if (error && fd >= 0)
        close(fd);
    return error ? -error : fd;
}

/* As it is here, else as the process sees it (a container). What was worst to find is kept in *error. */
static int try_both(const struct process *p, const char *path, int *error)
{
    char inside[PATH_MAX + 32];
    int fd = connect_to(p, path);
    if (fd < 0 && *path == '/') {
        if (fd != -ENOENT)
            *error = fd;
        (void)snprintf(inside, sizeof inside, "/proc/%d/root%s", (int)p->pid, path);
        fd = connect_to(p, inside);
    }
    if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
        *error = fd;
    return fd;
}

static int try_folders(const struct process *p, const char *named, const char *runtime, int *error)
{
    char path[PATH_MAX], name[PLACE_NAME_MAX];
    size_t parent;
    place_name(p->inner, name, sizeof name);
    for (unsigned i = 0; place_folder(i, named ? named : "", runtime ? runtime : "", p->uid, path, sizeof path - sizeof name - 1, &parent) == 0; i++) {
        (void)snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", name);
        int fd = try_both(p, path, error);
        if (fd >= 0)
            return fd;
    }
    return -ENOENT;
}

/* socket:PATH in its GIVEBACK_ON. A relative one counts from where it started, which is where it is if it has not moved. */
static int try_events(const struct process *p, int *error)
{
    const char *value = process_variable(p, "GIVEBACK_ON");
    struct event events[EVENT_MAX];
    char path[PATH_MAX], full[PATH_MAX + 64], line[512];
    struct text complaint;
    text_init(&complaint, line, sizeof line);
    size_t n = value ? event_read(events, EVENT_MAX, value, &complaint) : 0;
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind != EVENT_SOCKET || !events[i].argument[0] ||
            preload_expand(events[i].argument, p->inner, p->program, path, sizeof path) != 0)
            continue;
        (void)snprintf(full, sizeof full, "/proc/%d/cwd/%s", (int)p->pid, path);
        int fd = *path == '/' ? try_both(p, path, error) : try_both(p, full, error);
        if (fd >= 0)
            return fd;
    }
    return -ENOENT;
}

int connection_open(const struct process *p, const char *named)
{
    const char *theirs = process_variable(p, "GIVEBACK_DIR"), *ours = getenv("GIVEBACK_DIR");
    int error = -ENOENT, fd;
    if (named)
        return connect_to(p, named);
    if ((fd = try_events(p, &error)) >= 0)
        return fd;
    if (theirs && *theirs && (fd = try_folders(p, theirs, NULL, &error)) >= 0)
        return fd;
    if (ours && *ours && (fd = try_folders(p, ours, NULL, &error)) >= 0)
        return fd;
    if ((fd = try_folders(p, NULL, process_variable(p, "XDG_RUNTIME_DIR"), &error)) >= 0)
        return fd;
    fd = try_folders(p, NULL, getenv("XDG_RUNTIME_DIR"), &error);
    return fd >= 0 ? fd : error;
}

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for the descriptor; 0, or an errno value. */
static int wait_for(int fd, short events, int64_t end)
{
    for (;;) {
        int64_t left = end - now_ms();
        struct pollfd p = {fd, events, 0};
        int r = left > 0 ? poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left) : 0;
        if (r > 0)
            return 0;
        if (r == 0)
            return ETIMEDOUT;
        if (errno != EINTR)
            return errno;
    }
}

char *connection_ask(int fd, const char *line, int64_t timeout_ms, int *error)
{
    int64_t end = now_ms() + timeout_ms;
    size_t n = 0;
    char *answer = malloc(ANSWER_MOST);
    *error = answer ? 0 : ENOMEM;
    for (size_t at = 0, all = strlen(line); !*error && at < all;) {
        ssize_t sent = send(fd, line + at, all - at, MSG_NOSIGNAL);
        if (sent > 0)
            at += (size_t)sent;
        else if (errno == EAGAIN)
            *error = wait_for(fd, POLLOUT, end);
        else if (errno != EPIPE) /* it may have said why it closes */
            *error = errno;
        else
            break;
    }
    while (!*error) {
        ssize_t got = recv(fd, answer + n, ANSWER_MOST - n, 0);
        char *stop = got > 0 ? memchr(answer + n, '\n', (size_t)got) : NULL;
        if (stop) {
            *stop = 0;
            return answer;
        }
        if (got > 0 && (n += (size_t)got) == ANSWER_MOST)
            *error = EPROTO;
        else if (got == 0)
            *error = ECONNRESET;
        else if (got < 0)
            *error = errno == EAGAIN ? wait_for(fd, POLLIN, end) : errno;
    }
    free(answer);
    return NULL;
}
