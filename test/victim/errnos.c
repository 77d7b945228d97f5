/* errno at main is 0; then it stays what the host sets, while it computes and blocks under signals. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
    int at_main = errno, changed = 0, rounds = argc > 1 ? atoi(argv[1]) : 1;
    struct timespec t;
    struct sigaction a;
    (void)write(1, "ready\n", 6);
    for (int i = 0; i < rounds; i++) {
        errno = 1000 + i;
        if (argc > 1)
            (void)raise(SIGUSR1);
        for (int n = 0; n < 20000; n++)
            (void)clock_gettime(CLOCK_MONOTONIC, &t);
        (void)sigaction(SIGUSR1, NULL, &a);
        (void)sigaction(SIGWINCH, NULL, &a);
        if (i % 10 == 0)
            (void)signal(SIGWINCH, SIG_DFL);
        changed += errno != 1000 + i;
    }
    printf("errno %d, changed %d\n", at_main, changed);
    return 0;
}
