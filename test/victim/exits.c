/* exits WAY: a large heap full of holes, then SIGUSR1 to itself and the end of the process at once, in that way: the release
 * has only begun. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *blocks[8000];

static void at_exit(void)
{
    for (int i = 0; i < 8000; i += 2) /* destructors free, as C++ programs do */
        free(blocks[i]);
    (void)write(1, "atexit\n", 7);
}

static void *other(void *unused)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(100));
    exit(5);
    return unused;
}

int main(int argc, char **argv)
{
    const char *way = argv[1];
    pthread_t thread;
    atexit(at_exit);
    at_quick_exit(at_exit);
    for (int i = 0; i < 8000; i++)
        memset(blocks[i] = malloc(8000), 1, 8000);
    for (int i = 1; i < 8000; i += 2)
        free(blocks[i]);
    (void)write(1, "ready\n", 6);
    if (argc > 2)
        kill(getpid(), SIGUSR1);
    for (volatile long i = argc > 3 ? atol(argv[3]) : 0; i; i--) /* how far the release has come */
        ;
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(5);
    if (strcmp(way, "_exit") == 0)
        _exit(5);
    if (strcmp(way, "exit") == 0)
        exit(5);
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "pthread_exit") == 0)
        pthread_exit(NULL);
    if (strcmp(way, "thread") == 0 || strcmp(way, "main_exits") == 0)
        pthread_create(&thread, NULL, other, NULL);
    if (strcmp(way, "main_exits") == 0)
        pthread_exit(NULL);
    if (strcmp(way, "thread") == 0)
        pthread_join(thread, NULL);
    return 5;
}
