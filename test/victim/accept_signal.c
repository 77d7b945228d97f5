/* Takes SIGUSR1 without a handler: blocked and fetched by sigwait, sigwaitinfo, sigtimedwait or signalfd. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "sigwait";
    struct signalfd_siginfo info;
    siginfo_t si;
    sigset_t set, pending;
    int sig = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, 0);
    puts("ready");
    (void)fflush(stdout);
    for (int i = 0; i < 3; i++) {
        if (strcmp(way, "sigwait") == 0)
            (void)sigwait(&set, &sig);
        if (strcmp(way, "sigwaitinfo") == 0)
            sig = sigwaitinfo(&set, &si);
        if (strcmp(way, "sigtimedwait") == 0)
            sig = sigtimedwait(&set, &si, &(struct timespec){60, 0});
        if (strcmp(way, "signalfd") == 0)
            sig = read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : -1;
        if (strcmp(way, "pending") == 0)
            do
                (void)sigpending(&pending);
            while (!sigismember(&pending, SIGUSR1) || sigwait(&set, &sig));
        dprintf(1, "got %d\n", sig == SIGUSR1);
    }
    return 0;
}
