/* lastthread main|other: the process ends because its last thread does, not by exit: main leaves by pthread_exit, alone or
 * before another thread. What is buffered, and the atexit handler, come out then. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void bye(void)
{
    (void)write(1, "bye\n", 4);
}

static void *wait_for_line(void *unused)
{
    char c;
    printf("buffered ");
    (void)write(1, "ready\n", 6);
    (void)read(0, &c, 1);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    atexit(bye);
    if (argc > 1 && strcmp(argv[1], "other") == 0)
        pthread_create(&thread, NULL, wait_for_line, NULL);
    else
        (void)wait_for_line(NULL);
    pthread_exit(NULL);
}
