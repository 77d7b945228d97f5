/* lateown own|default: SIGUSR1 comes while it computes, where no release can begin, so it is on our retry list; at
 * that moment the host takes the signal over. Nobody has sent it another one, so its handler never runs, it does not die, and
 * none is pending when it looks. */
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
    if (strcmp(argv[1], "default") == 0)
        (void)signal(SIGUSR1, SIG_DFL);
    compute(60000);
    (void)usleep(60000);
    (void)sigpending(&pending);
    printf("handled %d pending %d\n", (int)count, sigismember(&pending, SIGUSR1));
    return 0;
}
