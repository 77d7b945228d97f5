/* lateown own|default|urg [US]: SIGUSR1 comes while it computes, where no release can begin, so that we try again; a little later
 * the host sets an action of its own for it (urg: for SIGURG and SIGWINCH, by which we may try). Nobody has sent another
 * signal, so no handler runs, it does not die, and none is pending. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t count;

static void handler(int sig)
{
    (void)sig;
    count++;
}

static void compute(long us)
{
    struct timespec start, now;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do
        free(malloc(100));
    while (clock_gettime(CLOCK_MONOTONIC, &now), (now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < us);
}

int main(int argc, char **argv)
{
    sigset_t pending;
    if (argc > 2) /* not without the library */
        (void)raise(SIGUSR1);
    compute(argc > 2 ? atol(argv[2]) : 0); /* how far the retries have come */
    if (strcmp(argv[1], "own") == 0)
        (void)signal(SIGUSR1, handler);
    if (strcmp(argv[1], "urg") == 0) {
        for (int i = 0; i < 2; i++) {
            struct sigaction old, a = {.sa_handler = handler};
            (void)sigaction(i ? SIGWINCH : SIGURG, &a, &old);
            count += old.sa_handler != SIG_DFL || old.sa_flags != 0;
        }
    }
    if (strcmp(argv[1], "default") == 0)
        (void)signal(SIGUSR1, SIG_DFL);
    compute(60000);
    (void)usleep(60000);
    (void)sigpending(&pending);
    printf("handled %d pending %d\n", (int)count, sigismember(&pending, SIGUSR1));
    return 0;
}
