#include "sample.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <time.h>

#include "procfs.h"
#include "sys.h"

#define SAMPLE_BUSY_NS 250000000L  /* how often a process that works is looked at, */
#define SAMPLE_QUIET_NS 500000000L /* and one that rests: an idle process is woken twice a second */
/* More CPU time than one part in so many is work, 2 % of a core. Measured on idle hosts: an event loop with a timer of 10 ms
 * uses 0.2 to 0.6 %, a dozen of them in one vLLM worker 1.0 to 1.2 %; the smallest request that touches 200 MiB uses 13 ms. */
#define SAMPLE_WORK 50

static struct {
    int statm, schedstat, stat;
    int64_t ours; /* CPU time of our threads that have ended */
    int64_t at, cpu, waited, runs, quiet_since;
    int64_t inherited;
    struct sample last;
} sample = {.statm = -1, .schedstat = -1, .stat = -1, .last = {.anon = PROCFS_UNKNOWN}};

/* Of the host's threads: all but ours. */
static int64_t sample_cpu(void)
{
    return sys_clock(CLOCK_PROCESS_CPUTIME_ID) - sys_clock(CLOCK_THREAD_CPUTIME_ID) - sample.ours;
}

/* Has the host's first thread been ready to run since the last look, and had no processor? Who waits for one is not idle
 * (seen at nice 19 beside two busy programs: 0.5 % of a core, and settle came in the middle of the work). The kernel counts a wait
 * when it is over; one that still lasts shows by a thread that is ready and has not run. Other threads are not looked at: it would mean
 * opening a file for each. */
static bool sample_waits(int64_t past)
{
    char text[512];
    int64_t number[3] = {0, 0, 0}; /* processor time, waited, how often it was given a processor */
    int64_t waited = sample.waited, runs = sample.runs;
    long n = sys4(SYS_pread64, sample.schedstat, text, 128, 0);

    for (long at = 0, which = 0; at < n && which < 3; at++)
        if (text[at] >= '0' && text[at] <= '9')
            number[which] = number[which] * 10 + (text[at] - '0');
        else
            which++;
    sample.waited = number[1];
    sample.runs = number[2];
    if (n <= 0 || sample.waited - waited > past / 2 || sample.runs != runs)
        return n > 0 && sample.waited - waited > past / 2;
    n = sys4(SYS_pread64, sample.stat, text, sizeof text, 0);
    while (n > 0 && text[n - 1] != ')') /* the end of its name; then " R" */
        n--;
    return n > 0 && n + 1 < (long)sizeof text && text[n + 1] == 'R';
}

/* What may be used between two looks, however early or late the second one comes. */
static int64_t sample_most(int64_t passed)
{
    if (passed < SAMPLE_BUSY_NS)
        passed = SAMPLE_BUSY_NS;
    if (passed > SAMPLE_QUIET_NS)
        passed = SAMPLE_QUIET_NS;
    return passed / SAMPLE_WORK;
}

void sample_open(int64_t now, bool first)
{
    if (first) {
        sample.inherited = sample.last.anon;
        sample.ours = 0;
    }
    /* statm is not guarded like other files of /proc: once open it can be read for good, in a changed root, as another
     * user, without a free descriptor. */
    sample.statm = (int)sys4(SYS_openat, AT_FDCWD, "/proc/thread-self/statm", O_RDONLY | O_CLOEXEC, 0);
    sample.schedstat = (int)sys4(SYS_openat, AT_FDCWD, "/proc/self/schedstat", O_RDONLY | O_CLOEXEC, 0); /* likewise */
    sample.stat = (int)sys4(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    sample.at = sample.quiet_since = now;
    sample.cpu = sample_cpu();
    (void)sample_waits(0);
    sample.last = (struct sample){PROCFS_UNKNOWN, 0};
}

void sample_close(void)
{
    if (sample.statm >= 0)
        sys1(SYS_close, sample.statm);
    if (sample.schedstat >= 0)
        sys1(SYS_close, sample.schedstat);
    if (sample.stat >= 0)
        sys1(SYS_close, sample.stat);
    sample.statm = sample.schedstat = sample.stat = -1;
    sample.ours += sys_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t sample_inherited(void)
{
    return sample.inherited;
}

const struct sample *sample_at(int64_t now)
{
    char text[128];
    struct procfs_memory m;
    long n;

    if (sample.at == now && sample.last.anon != PROCFS_UNKNOWN)
        return &sample.last;
    n = sys4(SYS_pread64, sample.statm, text, sizeof text, 0);
    if (n <= 0 || procfs_statm(text, (size_t)n, (int64_t)getauxval(AT_PAGESZ), &m) != 0)
        m.anon = PROCFS_UNKNOWN;
    int64_t cpu = sample_cpu();
    bool waits = sample_waits(now - sample.at);
    if (waits || cpu - sample.cpu > sample_most(now - sample.at))
        sample.quiet_since = now;
    sample.cpu = cpu;
    sample.at = now;
    sample.last = (struct sample){m.anon, now - sample.quiet_since};
    return &sample.last;
}

int64_t sample_next(int64_t now)
{
    int64_t period = sample.last.quiet ? SAMPLE_QUIET_NS : SAMPLE_BUSY_NS;

    return (now / period + 1) * period;
}
