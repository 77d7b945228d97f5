/* inmalloc CALL: a timer's handler interrupts malloc and free and blocks in CALL, where our signal comes: whoever makes a
 * thread there, or asks the allocator, hangs on the lock that the interrupted call holds. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char *call;
static volatile sig_atomic_t ticks;
static int pipes[2];

static void on_alarm(int sig)
{
    struct timespec t = {0, 3000000};
    struct pollfd p = {pipes[0], POLLIN, 0};
    char c;
    int kept = errno;
    (void)sig;
    ticks++;
    (void)kill(getpid(), SIGUSR1); /* pending at the latest when the call below begins */
    if (strcmp(call, "nanosleep") == 0)
        (void)nanosleep(&t, NULL);
    if (strcmp(call, "poll") == 0)
        (void)poll(&p, 1, 3);
    if (strcmp(call, "write") == 0)
        (void)write(pipes[1], "x", 1);
    if (strcmp(call, "read") == 0)
        (void)!(write(pipes[1], "x", 1) == 1 && read(pipes[0], &c, 1));
    errno = kept;
}

int main(int argc, char **argv)
{
    struct itimerval timer = {{0, 5000}, {0, 5000}};
    struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    char *kept[256] = {0};
    unsigned seed = 1;
    call = argv[1];
    (void)pipe(pipes);
    (void)sigaction(SIGALRM, &a, NULL);
    puts("ready");
    (void)fflush(stdout);
    if (argc > 2)
        (void)setitimer(ITIMER_REAL, &timer, NULL);
    for (int n = 0; argc > 2 ? ticks < 80 : n < 1000; n++) {
        seed = seed * 1664525 + 1013904223;
        free(kept[seed >> 24]);
        kept[seed >> 24] = malloc(1 + (seed >> 8) % 60000);
        memset(kept[seed >> 24], 1, 1);
    }
    timer = (struct itimerval){{0, 0}, {0, 0}};
    (void)setitimer(ITIMER_REAL, &timer, NULL);
    puts("done");
    return 0;
}
