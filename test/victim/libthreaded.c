/* A library whose constructor starts a thread, which stays. */
#include <pthread.h>
#include <unistd.h>

static void *stay(void *unused)
{
    for (;;)
        pause();
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t t;
    (void)pthread_create(&t, NULL, stay, NULL);
}
