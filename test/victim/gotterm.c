/* gotterm CALL ROUNDS [both]: SIGTERM sets a flag; `while (!got) CALL` without a timeout must see it every time, though
 * SIGUSR1 comes at the same moment. A child sends them, in either order and a little apart, once this thread is blocked.
 * ppoll, pselect and sigsuspend open the mask themselves: not one may be lost. In the others a wake-up between the look at the
 * flag and the call is the program's own race: two of all rounds may need SIGTERM again, after two seconds. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const names[] = {"poll", "ppoll", "select", "pselect", "epoll", "pause", "sigsuspend"};
/* What libc makes of them; select differs between versions. */
static const long numbers[][2] = {{SYS_poll, SYS_poll}, {SYS_ppoll, SYS_ppoll}, {SYS_select, SYS_pselect6}, {SYS_pselect6, SYS_pselect6},
                                  {SYS_epoll_wait, SYS_epoll_wait}, {SYS_pause, SYS_pause}, {SYS_rt_sigsuspend, SYS_rt_sigsuspend}};
static volatile sig_atomic_t got;
static int call;

static int masked(void)
{
    return call == 1 || call == 3 || call == 6;
}

static void on_term(int sig)
{
    got = sig;
}

static void block(int e)
{
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    (void)(call == 0 ? poll(NULL, 0, -1) : call == 1 ? ppoll(NULL, 0, NULL, &none) : call == 2 ? select(0, NULL, NULL, NULL, NULL) :
           call == 3 ? pselect(0, NULL, NULL, NULL, NULL, &none) : call == 4 ? epoll_wait(e, &event, 1, -1) :
           call == 5 ? pause() : sigsuspend(&none));
}

static void send_both(volatile int *round, int rounds, int both)
{
    char text[32];
    unsigned seed = 7, again = 0;
    (void)snprintf(text, sizeof text, "/proc/%d/syscall", (int)getppid());
    int fd = open(text, O_RDONLY);
    for (int i = 1; i <= rounds; i++, seed = seed * 1664525 + 1013904223) {
        time_t sent = time(NULL);
        long in = -1; /* the call that it sleeps in must be the one: in a handler of ours it may sleep before that begins */
        do {
            sched_yield();
            if (*round < i && !masked() && time(NULL) > sent + 2 && again++ < 2)
                kill(getppid(), SIGTERM), sent = time(NULL);
            if (*round == i && pread(fd, text, sizeof text, 0) > 0 && text[0] >= '0' && text[0] <= '9')
                in = atol(text);
        } while (in < 0 || (in != numbers[call][0] && in != numbers[call][1]));
        int first = seed & 0x10000 ? SIGUSR1 : SIGTERM;
        if (both || first == SIGTERM)
            kill(getppid(), first);
        for (volatile unsigned n = seed >> 18 & 0x1fff; n; n--)
            ;
        if (both || first == SIGUSR1)
            kill(getppid(), SIGUSR1 + SIGTERM - first);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    volatile int *round = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int rounds = atoi(argv[2]), e = epoll_create1(0);
    while (strcmp(names[call], argv[1]) != 0)
        call++;
    (void)sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_term}, NULL);
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    if (masked())
        (void)sigprocmask(SIG_BLOCK, &term, NULL);
    if (fork() == 0)
        send_both(round, rounds, argc > 3);
    for (*round = 1; *round <= rounds; got = 0, ++*round)
        while (!got)
            block(e);
    return wait(NULL) < 0;
}
