/* hooked [CALLS]: nanoseconds of one call of a small function in a loop: the median of eleven passes. With exit:hooked_* the pass
 * is the outermost call, so that each of the calls goes through a hook and none fires. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

long hooked_call(long a, long b);
double hooked_pass(long n);

__attribute__((noinline)) long hooked_call(long a, long b)
{
    __asm__ volatile("" : "+r"(a), "+r"(b));
    return a * 3 + b;
}

__attribute__((noinline)) double hooked_pass(long n)
{
    struct timespec from, to;
    long x = 0;

    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < n; i++)
        x = hooked_call(x, i);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)n;
}

static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 10000000;
    double ns[11];

    for (int i = 0; i < 11; i++)
        ns[i] = hooked_pass(n);
    qsort(ns, 11, sizeof *ns, compare);
    printf("%.2f\n", ns[5]);
    return 0;
}
