/* Threads with PTHREAD_STACK_MIN, a canary below what they use, and threads with an alternative signal stack, block in
 * read; every signal goes to one of them. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int pipes[2];

static void *block(void *alternative)
{
    char c, memory[8192];
    stack_t s = {.ss_sp = memory, .ss_size = sizeof memory}, now;
    (void)sigaltstack(alternative ? &s : NULL, NULL);
    (void)write(1, "thread\n", 7);
    (void)read(pipes[0], &c, 1);
    (void)sigaltstack(NULL, &now);
    return (void *)(long)(alternative ? now.ss_sp != memory || now.ss_flags == SS_DISABLE : 0);
}

static void *block_tiny(void *unused)
{
    char c;
    (void)write(1, "thread\n", 7);
    (void)read(pipes[0], &c, 1);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[4];
    pthread_attr_t tiny;
    sigset_t set;
    void *result;
    char c;
    int alternative = argc > 1 && strcmp(argv[1], "alt") == 0, bad = 0;
    (void)pipe(pipes);
    pthread_attr_init(&tiny);
    (void)pthread_attr_setstacksize(&tiny, (size_t)PTHREAD_STACK_MIN + (alternative ? 16384 : 0));
    for (int i = 0; i < 4; i++)
        bad += pthread_create(&thread[i], &tiny, alternative ? block : block_tiny, alternative ? pipes : NULL) != 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)write(1, "ready\n", 6);
    (void)read(0, &c, 1);
    (void)write(pipes[1], "xxxx", 4);
    for (int i = 0; i < 4; i++)
        bad += pthread_join(thread[i], &result) || result;
    printf("bad %d\n", bad);
    return bad;
}
