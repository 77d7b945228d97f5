/* forks WAY: makes a child in that way, which blocks in read on stdin as its parent does; both say their pid. The child of
 * `daemon` has no stdin, so it ends with its parent's pipe. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *way;

static int idle(const char *who)
{
    char c, *block = malloc(100000);
    memset(block, 1, 100000);
    dprintf(1, "%s %d\n", who, (int)getpid());
    free(block);
    while (read(3, &c, 1) > 0)
        ;
    return 4;
}

static int idle_clone(void *unused)
{
    (void)unused;
    return idle("child");
}

static pid_t make(void)
{
    static char stack[1 << 16] __attribute__((aligned(16)));
    if (strcmp(way, "fork") == 0)
        return fork();
    if (strcmp(way, "_Fork") == 0)
        return _Fork();
    if (strcmp(way, "clone") == 0)
        return clone(idle_clone, stack + sizeof stack, SIGCHLD, NULL);
    if (strcmp(way, "raw") == 0)
        return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (strcmp(way, "double") == 0) {
        pid_t child = fork();
        if (child == 0 && fork() != 0)
            _exit(0);
        return child;
    }
    pid_t child = fork(); /* daemon: in a child, so that the driver still has a parent to look at */
    return child ? child : daemon(1, 1);
}

int main(int argc, char **argv)
{
    char c;
    int status;
    way = argv[argc - 1];
    dup2(0, 3);
    puts("ready");
    (void)fflush(stdout);
    if (read(0, &c, 1) < 0) /* the driver may have had a release, so that there is a worker, or not */
        return 1;
    pid_t child = make();
    if (child == 0)
        return idle("child");
    (void)idle("parent");
    pid_t ended = waitpid(child, &status, strcmp(way, "clone") == 0 ? __WALL : 0);
    printf("%d %x\n", ended == child, status);
    return 0;
}
