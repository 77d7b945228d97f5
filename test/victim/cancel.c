/* Threads blocked in cancellation points are cancelled while signals come: each cleanup runs once, each thread ends, and
 * deferred cancellation stays deferred. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define ROUNDS 500
static int cleaned, pipes[2];

static void cleanup(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static void *block(void *argument)
{
    char c;
    struct pollfd p = {pipes[0], POLLIN, 0};
    pthread_cleanup_push(cleanup, NULL);
    for (;;)
        switch ((intptr_t)argument % 4) {
        case 0: (void)read(pipes[0], &c, 1); break;
        case 1: (void)poll(&p, 1, -1); break;
        case 2: (void)sleep(100); break;
        default: (void)pause();
        }
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void)
{
    pthread_t thread[4];
    void *result;
    int bad = 0;
    (void)pipe(pipes);
    puts("ready");
    (void)fflush(stdout);
    for (int round = 0; round < ROUNDS; round++) {
        for (intptr_t i = 0; i < 4; i++)
            bad += pthread_create(&thread[i], NULL, block, (void *)i) != 0;
        if (round % 3)
            (void)usleep((useconds_t)(round % 7) * 50);
        for (int i = 0; i < 4; i++)
            bad += pthread_cancel(thread[i]) != 0;
        for (int i = 0; i < 4; i++)
            bad += pthread_join(thread[i], &result) != 0 || result != PTHREAD_CANCELED;
    }
    printf("bad %d\n", bad); /* a thread cancelled before its push has nothing to clean */
    return bad || cleaned > 4 * ROUNDS;
}
