/* hookthreads THREADS CALLS: that many threads at once call hooked functions, with arguments on the stack and recursion. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MOST 1000

long work_sum(long a, long b, long c, long d, long e, long f, long g, long h, double i, int j);
long work_deep(long n, char *free_me);
static int calls;
static pthread_barrier_t barrier;

__attribute__((noipa)) long work_sum(long a, long b, long c, long d, long e, long f, long g, long h, double i, int j)
{
    return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + (long)(i * 9) + j * 10;
}

__attribute__((noipa)) long work_deep(long n, char *free_me)
{
    long sum = n > 0 ? work_deep(n - 1, malloc((size_t)n * 100 + 1)) + n : 0;
    free(free_me);
    return sum;
}

static void *run(void *p)
{
    long *sum = p;

    pthread_barrier_wait(&barrier);
    for (int i = 0; i < calls; i++)
        *sum += work_sum(i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9) + work_deep(i % 50, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    static pthread_t thread[THREADS_MOST];
    static long sum[THREADS_MOST];
    int n = argc > 2 ? atoi(argv[1]) : 100;
    long total = 0;

    calls = argc > 2 ? atoi(argv[2]) : 100;
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, run, &sum[i]) != 0)
            return 1;
    for (int i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
        total += sum[i];
    }
    printf("%ld\n", total);
    return 0;
}
