/* nowake CALL: a host without any handler blocks in a call that SA_RESTART does not restart, with no timeout. A helper
 * thread ends it at a line on stdin. It may not have been woken before. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static int pipes[2];
static pthread_t main_thread;

static void *finish(void *call)
{
    char c;
    while (read(0, &c, 1) < 0)
        ;
    (void)write(1, "line\n", 5);
    (void)write(pipes[1], "x", 1);
    if (strcmp(call, "pause") == 0 || strcmp(call, "sigsuspend") == 0)
        pthread_cancel(main_thread); /* nothing else ends them */
    return NULL;
}

int main(int argc, char **argv)
{
    char *call = argv[argc - 1];
    struct epoll_event event = {.events = EPOLLIN};
    pthread_t thread;
    fd_set set;
    sigset_t none;
    (void)pipe(pipes);
    struct pollfd p = {pipes[0], POLLIN, 0};
    int e = epoll_create1(0), r = -2;
    (void)epoll_ctl(e, EPOLL_CTL_ADD, pipes[0], &event);
    FD_ZERO(&set);
    FD_SET(pipes[0], &set);
    sigemptyset(&none);
    main_thread = pthread_self();
    /* The helper blocks all signals from its first moment on. A signal to the process wakes one thread, and another that happens
     * to leave the kernel may take it: the first then sees EINTR from epoll_wait, though no handler ran on it. Seen with
     * /sys/kernel/tracing/events/signal: nobody who is sent a signal can be spared that. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_create(&thread, NULL, finish, call);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)write(1, "ready\n", 6);
    errno = 0;
    r = strcmp(call, "poll") == 0 ? poll(&p, 1, -1) : strcmp(call, "ppoll") == 0 ? ppoll(&p, 1, NULL, NULL) :
        strcmp(call, "select") == 0 ? select(pipes[0] + 1, &set, NULL, NULL, NULL) :
        strcmp(call, "pselect") == 0 ? pselect(pipes[0] + 1, &set, NULL, NULL, NULL, NULL) :
        strcmp(call, "epoll_wait") == 0 ? epoll_wait(e, &event, 1, -1) :
        strcmp(call, "pause") == 0 ? pause() : sigsuspend(&none);
    dprintf(1, "%s: %d errno %d\n", call, r, errno);
    return 0;
}
