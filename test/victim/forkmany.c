/* forkmany CHILDREN: four threads allocate while the main thread forks children, each of which allocates, raises SIGUSR1
 * itself where told to (argument 2), allocates again and ends. Every child ends. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int over;

static void *churn(void *unused)
{
    char *kept[32] = {0};
    for (unsigned seed = 1; !over; seed = seed * 1664525 + 1013904223) {
        free(kept[seed >> 27]);
        kept[seed >> 27] = malloc(1 + (seed >> 8) % 9000);
        kept[seed >> 27][0] = 1;
        if ((seed & 0x3f0000) == 0) /* so that two cores are enough */
            (void)sched_yield();
    }
    for (int i = 0; i < 32; i++)
        free(kept[i]);
    return unused;
}

static void work(int n)
{
    char *block[40];
    for (int i = 0; i < 40; i++)
        memset(block[i] = malloc((size_t)(n * 97 + i * 311) % 20000 + 1), n, 1);
    for (int i = 0; i < 40; i++)
        free(block[i]);
}

int main(int argc, char **argv)
{
    pthread_t thread[4];
    int children = argc > 1 ? atoi(argv[1]) : 100, bad = 0, status;
    puts("ready");
    (void)fflush(stdout);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, churn, NULL);
    for (int n = 0; n < children; n++) {
        pid_t child = fork();
        if (child == 0) {
            work(n);
            if (argc > 2)
                (void)raise(SIGUSR1);
            work(n + 1);
            _exit(n & 0x7f);
        }
        bad += child < 0 || waitpid(child, &status, 0) != child || status != (n & 0x7f) << 8;
    }
    over = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    printf("bad %d\n", bad);
    return bad != 0;
}
