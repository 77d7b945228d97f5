/* Must die of SIGUSR1, in the way the argument says. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* the old ways are what it is about */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern __sighandler_t sysv_signal(int, __sighandler_t);

static void reset_and_raise(int sig)
{
    (void)write(1, "cleaning up\n", 12);
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

static void once(int sig)
{
    (void)sig;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    struct sigaction reset = {.sa_handler = once, .sa_flags = (int)SA_RESETHAND}, old;
    char c;
    puts("ready");
    (void)fflush(stdout);
    (void)read(0, &c, 1); /* releases come here */
    if (strcmp(way, "reset") == 0)
        (void)signal(SIGUSR1, reset_and_raise);
    if (strcmp(way, "default") == 0)
        (void)signal(SIGUSR1, SIG_DFL);
    if (strcmp(way, "sigset") == 0)
        (void)sigset(SIGUSR1, SIG_DFL);
    if (strcmp(way, "resethand") == 0)
        (void)sigaction(SIGUSR1, &reset, NULL);
    if (strcmp(way, "sysv") == 0)
        (void)sysv_signal(SIGUSR1, once);
    if (strcmp(way, "restore") == 0) { /* a library that borrows the signal and gives back what it found */
        (void)sigaction(SIGUSR1, &reset, &old);
        (void)sigaction(SIGUSR1, &old, NULL);
    }
    puts("waiting");
    (void)fflush(stdout);
    if (strcmp(way, "resethand") == 0 || strcmp(way, "sysv") == 0)
        (void)raise(SIGUSR1);
    (void)raise(SIGUSR1);
    puts("survived");
    return 0;
}
