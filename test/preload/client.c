/* The part of the harness that is a client of a host's control socket. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int client_try(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), file = open(path, O_PATH | O_CLOEXEC);
    /* Through a descriptor, since the paths of scratch folders may be longer than an address. */
    (void)snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d", file);
    int error = file < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0 ? errno : 0;
    if (file >= 0)
        close(file);
    if (!error)
        return fd;
    close(fd);
    return -error;
}

int client_connect(struct host *h, const char *path)
{
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000;; harness_look_again()) {
        int fd = client_try(path);
        if (fd >= 0)
            return fd;
        if (host_gone(h) || harness_now() > end)
            host_fail(h, "waiting for the control socket");
    }
}

void client_say(int fd, const char *text)
{
    size_t n = strlen(text);
    ck_assert_msg(send(fd, text, n, MSG_NOSIGNAL) == (ssize_t)n, "the control socket does not take %s", text);
}

bool client_line(struct host *h, int fd, char *buffer, size_t size)
{
    size_t n = 0;
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; n + 1 < size;) {
        struct pollfd p = {fd, POLLIN, 0};
        if (poll(&p, 1, 100) == 1) {
            ssize_t got = recv(fd, buffer + n, 1, 0);
            if (got <= 0)
                break;
            if (buffer[n++] == '\n')
                break;
        } else if (harness_now() > end) {
            host_fail(h, "waiting for an answer on the control socket");
        }
    }
    buffer[n] = 0;
    return n && buffer[n - 1] == '\n';
}

void client_ask(struct host *h, int fd, const char *request, char *answer, size_t size)
{
    client_say(fd, request);
    client_say(fd, "\n");
    if (!client_line(h, fd, answer, size))
        host_fail(h, "the control socket was closed instead of an answer");
}

/* On-CPU time of the worker in nanoseconds. */
int64_t host_worker_cpu(const struct host *h)
{
    char path[80];
    long long ns = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)h->pid, (int)host_worker(h));
    char *text = file_text(path);
    ck_assert_msg(sscanf(text, "%lld", &ns) == 1, "%s: %s", path, text);
    return ns;
}

void host_worker_rests(struct host *h, const char *when)
{
    int64_t used = 0;
    for (int i = 0; i < 20; i++) { /* what it still has to do may take a while on a loaded machine */
        int64_t before = host_worker_cpu(h), start = harness_now();
        while (harness_now() < start + 400)
            harness_look_again();
        used = host_worker_cpu(h) - before;
        if (used < 8000000) /* 2 % of a core */
            return;
    }
    ck_abort_msg("the worker spins %s: %lld ms of processor time in 400 ms", when, (long long)(used / 1000000));
}
