/* Installs its own SIGUSR1 handler, in the way and at the moment the arguments say, and counts what comes.
 * handler WAY now|later */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* the old ways are what it is about */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern __sighandler_t bsd_signal(int, __sighandler_t), ssignal(int, __sighandler_t), sysv_signal(int, __sighandler_t);
static volatile sig_atomic_t count;
static const char *way;

static void handler(int sig)
{
    count += sig == SIGUSR1;
    if (way[0] == 'v') /* sysv: reset to SIG_DFL at each delivery, so set again */
        (void)sysv_signal(sig, handler);
}

static int install(void)
{
    struct sigaction a = {.sa_handler = handler};
    struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; } raw = {handler, 0, NULL, 0};
    if (strcmp(way, "signal") == 0)
        return signal(SIGUSR1, handler) != SIG_DFL;
    if (strcmp(way, "bsd_signal") == 0)
        return bsd_signal(SIGUSR1, handler) != SIG_DFL;
    if (strcmp(way, "ssignal") == 0)
        return ssignal(SIGUSR1, handler) != SIG_DFL;
    if (strcmp(way, "vsysv_signal") == 0)
        return sysv_signal(SIGUSR1, handler) != SIG_DFL;
    if (strcmp(way, "sigset") == 0)
        return sigset(SIGUSR1, handler) != SIG_DFL;
    if (strcmp(way, "siginterrupt") == 0)
        return (sigaction(SIGUSR1, &a, NULL) || siginterrupt(SIGUSR1, 1)) ? 1 : 0;
    if (strcmp(way, "raw") == 0) { /* what a runtime with system calls of its own does; libc's restorer is borrowed */
        (void)sigaction(SIGUSR2, &a, NULL);
        syscall(SYS_rt_sigaction, SIGUSR2, NULL, &raw, 8);
        return (int)syscall(SYS_rt_sigaction, SIGUSR1, &raw, NULL, 8);
    }
    return sigaction(SIGUSR1, &a, NULL);
}

int main(int argc, char **argv)
{
    char c;
    way = argc > 1 ? argv[1] : "sigaction";
    int later = argc > 2 && strcmp(argv[2], "later") == 0;
    write(1, "ready\n", later ? 6 : 0);
    while (later && read(0, &c, 1) < 0) /* releases come here */
        ;
    int bad = install();
    for (dprintf(1, "installed %d\n", bad); count < 3;)
        pause();
    dprintf(1, "three\n");
    return errno == EINTR ? 0 : 1;
}
