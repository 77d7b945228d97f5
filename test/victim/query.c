/* What the host sees of SIGUSR1: before anything, after a release, after its own handler, after SIG_DFL. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* the old ways are what it is about */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

extern __sighandler_t sysv_signal(int, __sighandler_t);

static void handler(int sig)
{
    (void)sig;
}

static void show(const char *when)
{
    struct sigaction a = {.sa_flags = 99};
    (void)sigaction(SIGUSR1, NULL, &a);
    int masked = 0;
    for (int i = 1; i < 65; i++)
        masked += sigismember(&a.sa_mask, i) == 1;
    printf("%s: %s flags %x mask %d\n", when,
           a.sa_handler == SIG_DFL ? "SIG_DFL" : a.sa_handler == SIG_IGN ? "SIG_IGN" : a.sa_handler == handler ? "own" : "strange",
           (unsigned)a.sa_flags & ~0x04000000u, masked);
}

static void next(const char *when)
{
    char c;
    show(when);
    puts("ready");
    (void)fflush(stdout);
    (void)read(0, &c, 1);
}

int main(void)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_NODEFER}, old;
    next("at start");
    next("after a release");
    (void)sigaction(SIGUSR2, NULL, &old);
    printf("USR2 %d\n", old.sa_handler == SIG_DFL);
    sigaddset(&a.sa_mask, SIGHUP);
    (void)sigaction(SIGUSR1, &a, &old);
    printf("old: %s flags %x\n", old.sa_handler == SIG_DFL ? "SIG_DFL" : "strange", (unsigned)old.sa_flags);
    show("own handler");
    printf("signal: %d\n", signal(SIGUSR1, SIG_DFL) == handler);
    show("SIG_DFL again");
    printf("signal: %d\n", signal(SIGUSR1, SIG_IGN) == SIG_DFL);
    show("SIG_IGN");
    printf("sigset: %d\n", sigset(SIGUSR1, SIG_HOLD) == SIG_IGN);
    printf("sigset: %d\n", sigset(SIGUSR1, handler) == SIG_HOLD);
    printf("sysv: %d\n", sysv_signal(SIGUSR1, SIG_DFL) == handler);
    show("the end");
    printf("errors: %d %d\n", sigaction(SIGUSR1, (struct sigaction *)0, NULL), sigaction(65, &a, NULL));
    printf("errors: %d %d\n", sigaction(SIGKILL, &a, NULL), signal(-1, handler) == SIG_ERR);
    return 0;
}
