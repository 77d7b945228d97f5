/* Opens and closes its arguments, objects with and without an allocator, 5000 times in two threads that also allocate. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMES 5000

static char **objects;
static int failed;

static void *reload(void *from)
{
    for (int i = 0; i < TIMES; i++) {
        char **o = i % 2 ? objects : from;
        for (; *o; o++) {
            void *object = dlopen(*o, RTLD_NOW | RTLD_LOCAL);
            void *block = malloc(50000);
            if (!object || !block || memset(block, 1, 50000) != block || dlclose(object) != 0)
                __atomic_store_n(&failed, 1, __ATOMIC_SEQ_CST);
            free(block);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char c;
    objects = argv + 1;
    puts("ready");
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    if (pthread_create(&thread, NULL, reload, argv + argc / 2) != 0)
        return 3;
    reload(objects);
    pthread_join(thread, NULL);
    return failed;
}
