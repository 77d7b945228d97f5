/* A vfork child changes its signals and execs; the parent's own view of its signals, and ours, must be as before. */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void handler(int sig)
{
    (void)sig;
}

static void show(const char *when, int sig)
{
    struct sigaction a;
    (void)sigaction(sig, NULL, &a);
    printf("%s: %d %s\n", when, sig, a.sa_handler == SIG_DFL ? "SIG_DFL" : a.sa_handler == handler ? "own" : "strange");
}

static int child_of(int n)
{
    int status;
    pid_t child = vfork();
    if (child == 0) {
        struct sigaction a = {.sa_handler = n == 0 ? SIG_DFL : n == 1 ? SIG_IGN : handler};
        (void)sigaction(SIGUSR1, &a, NULL);
        (void)signal(SIGHUP, n == 0 ? SIG_DFL : SIG_IGN);
        execl("/bin/sh", "sh", "-c", "trap", NULL);
        _exit(127);
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}

int main(void)
{
    posix_spawnattr_t attributes;
    sigset_t set;
    pid_t child;
    int status;
    char c, *argv[] = {"sh", "-c", "exit 9", NULL};
    (void)signal(SIGHUP, handler);
    for (int n = 0; n < 3; n++)
        printf("child %x\n", (unsigned)child_of(n));
    posix_spawnattr_init(&attributes);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    posix_spawnattr_setsigdefault(&attributes, &set);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    printf("spawn %d\n", posix_spawn(&child, "/bin/sh", NULL, &attributes, argv, environ));
    (void)waitpid(child, &status, 0);
    printf("status %x system %x\n", (unsigned)status, (unsigned)system("exit 3"));
    show("usr1", SIGUSR1);
    show("hup", SIGHUP);
    puts("ready");
    (void)fflush(stdout);
    (void)read(0, &c, 1);
    show("usr1", SIGUSR1);
    return 0;
}
