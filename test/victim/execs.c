/* Becomes another program (idle) by execv from the main thread or from another one, after a line on stdin. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[512];

static void *become(void *unused)
{
    char *argv[] = {path, NULL};
    (void)execv(path, argv);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char c;
    (void)snprintf(path, sizeof path, "%s", argv[argc - 1]);
    puts("before");
    (void)fflush(stdout);
    (void)read(0, &c, 1);
    if (argc > 2 && strcmp(argv[1], "thread") == 0) {
        pthread_create(&thread, NULL, become, NULL);
        pthread_join(thread, NULL);
    }
    (void)become(NULL);
    return 1;
}
