/* scribble WAY: destroys its environment as daemons do, then goes on; getenv and environ must be its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    const char *way = argv[1];
    char c, *own[] = {"A=1", NULL};
    if (strcmp(way, "title") == 0) { /* setproctitle: argv and environ in place, to the last byte */
        size_t size = 0;
        for (int i = 0; i < argc; i++)
            size = (size_t)(argv[i] - argv[0]) + strlen(argv[i]) + 1;
        for (char **e = environ; *e; e++)
            size = (size_t)(*e - argv[0]) + strlen(*e) + 1;
        memset(argv[0], 'T', size - 1);
        environ = own;
    }
    if (strcmp(way, "clearenv") == 0)
        (void)clearenv();
    if (strcmp(way, "null") == 0)
        environ = NULL;
    if (strcmp(way, "setenv") == 0) {
        char name[32];
        (void)setenv("GIVEBACK_LOG", "/nonexistent/elsewhere", 1);
        (void)setenv("GIVEBACK_FORMAT", "text", 1);
        (void)setenv("LD_PRELOAD", "", 1);
        for (int i = 0; i < 1000; i++) {
            (void)snprintf(name, sizeof name, "V%d", i);
            (void)setenv(name, "some value that is long enough to move things around", 1);
        }
    }
    if (strcmp(way, "scrub") == 0) /* every string wiped where it lies, pointers kept */
        for (char **e = environ; *e; e++)
            memset(*e, 0, strlen(*e));
    write(1, "ready\n", 6);
    while (read(0, &c, 1) > 0)
        ;
    const char *path = getenv("PATH");
    printf("%s %d\n", environ ? "environ" : "none", path != NULL);
    return 0;
}
