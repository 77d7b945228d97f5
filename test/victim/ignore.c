/* SIGUSR1 ignored: by inheritance (the driver's doing), signal, sigaction, sigset or sigignore. SIG_IGN must be seen. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* the old ways are what it is about */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "inherited";
    struct sigaction a = {.sa_handler = SIG_IGN}, now;
    char c;
    if (strcmp(way, "signal") == 0)
        (void)signal(SIGUSR1, SIG_IGN);
    if (strcmp(way, "sigaction") == 0)
        (void)sigaction(SIGUSR1, &a, NULL);
    if (strcmp(way, "sigset") == 0)
        (void)sigset(SIGUSR1, SIG_IGN);
    if (strcmp(way, "sigignore") == 0)
        (void)sigignore(SIGUSR1);
    (void)sigaction(SIGUSR1, NULL, &now);
    printf("SIG_IGN %d\nready\n", now.sa_handler == SIG_IGN);
    (void)fflush(stdout);
    for (int i = 0; i < 100; i++)
        (void)raise(SIGUSR1);
    puts("raised");
    (void)fflush(stdout);
    (void)read(0, &c, 1);
    return 0;
}
