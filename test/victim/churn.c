/* N threads that do nothing but allocate and free for S milliseconds each of CPU time; a checksum shows that no block
 * was damaged and no errno was touched. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long milliseconds;

static int spent(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000 >= milliseconds;
}

static void *churn(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    unsigned char *kept[64] = {0};
    size_t size[64] = {0};
    uintptr_t bad = 0;
    errno = 77;
    while (!spent(CLOCK_THREAD_CPUTIME_ID))
        for (int round = 0; round < 200; round++) {
            unsigned i = (seed = seed * 1664525 + 1013904223) >> 26;
            bad += kept[i] && (kept[i][0] != i || kept[i][size[i] - 1] != i);
            free(kept[i]);
            size[i] = 1 + (seed >> 8) % ((seed & 0xf00) ? 4000 : 300000);
            memset(kept[i] = malloc(size[i]), (int)i, size[i]);
            bad += errno != 77;
        }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return (void *)bad;
}

int main(int argc, char **argv)
{
    pthread_t thread[16];
    int n = argc > 1 ? atoi(argv[1]) : 4;
    void *bad;
    milliseconds = argc > 2 ? atol(argv[2]) : 500;
    puts("ready");
    (void)fflush(stdout);
    for (intptr_t i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, churn, (void *)i);
    for (int i = 0; i < n; i++) {
        pthread_join(thread[i], &bad);
        printf("thread %d: %d bad\n", i, (int)(uintptr_t)bad);
    }
    return 0;
}
