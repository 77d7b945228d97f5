/* A host with its own handler that opens its mask only inside pselect, ppoll, epoll_pwait or sigsuspend. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static volatile sig_atomic_t count;

static void handler(int sig)
{
    (void)sig;
    count++;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "pselect";
    struct sigaction a = {.sa_handler = handler};
    struct epoll_event event;
    sigset_t set, open;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &set, &open);
    (void)sigaction(SIGUSR1, &a, NULL);
    int r = 0, e = epoll_create1(0);
    puts("ready");
    for (int i = 1; i <= 3; i++) {
        (void)fflush(stdout);
        if (strcmp(way, "pselect") == 0)
            r = pselect(0, NULL, NULL, NULL, NULL, &open);
        if (strcmp(way, "ppoll") == 0)
            r = ppoll(NULL, 0, NULL, &open);
        if (strcmp(way, "epoll_pwait") == 0)
            r = epoll_pwait(e, &event, 1, -1, &open);
        if (strcmp(way, "sigsuspend") == 0)
            r = sigsuspend(&open);
        printf("%d %s count %d\n", r, errno == EINTR ? "EINTR" : "?", count == i);
    }
    return 0;
}
