/* Only computes: after "ready" no system call and no allocation, for S milliseconds of processor time (read from the vDSO). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    long ms = argc > 1 ? atol(argv[1]) : 1000;
    volatile unsigned long n = 1;
    struct timespec start, now;
    puts("ready");
    (void)fflush(stdout);
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 1000000; i++)
            n = n * 6364136223846793005u + 1;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
    puts("done");
    return 3;
}
