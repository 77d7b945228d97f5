#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>

#include "post.h"
#include "sample.h"
#include "sys.h"

/* What wakes the worker from poll. Not SIGURG and its like: setting a signal whose default is to be ignored back to the
 * default throws away what is pending of it. Nothing uses this one; it is blocked here and sent to this thread alone. */
#define WATCH_SIGNAL SIGSTKFLT
#define WATCH_MASK_BYTES 8          /* the kernel's sigset_t */
#define WATCH_UNKICKED_NS 20000000L /* how often it looks by itself where no timer could be made */

static const struct watch_kind *const watch_kinds[EVENT_KINDS] = {
    [EVENT_EVERY] = &event_every,
    [EVENT_IDLE] = &event_idle,
    [EVENT_PRESSURE] = &event_pressure,
    [EVENT_RSS] = &event_rss,
    [EVENT_SETTLE] = &event_settle,
};

static struct watch watches[EVENT_MAX];
static size_t watch_count;
static int watch_kicked = -1;  /* readable when somebody wants this thread; -1: not to be had */
static struct post *watch_post;

/* A host's thread cannot write to a descriptor of this table. So it sets a timer off, which signals this thread and no
 * other, not even one that has got its number later. */
static void watch_open_kick(struct post *p)
{
    uint64_t mask = UINT64_C(1) << (WATCH_SIGNAL - 1);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WATCH_SIGNAL};
    int id;

    event._sigev_un._tid = (int)sys0(SYS_gettid);
    watch_kicked = (int)sys4(SYS_signalfd4, -1, &mask, WATCH_MASK_BYTES, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch_kicked >= 0 && sys3(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) == 0)
        __atomic_store_n(&p->kick, id + 1, __ATOMIC_SEQ_CST);
}

void watch_open(struct post *p, const struct event *events, size_t n, bool first)
{
    int64_t now = sys_clock(CLOCK_MONOTONIC);

    watch_post = p;
    watch_count = 0;
    for (size_t i = 0; i < n; i++) {
        struct watch *w = &watches[watch_count];

        if (!watch_kinds[events[i].kind])
            continue;
        if (!watch_count++) {
            watch_open_kick(p);
            sample_open(now, first);
        }
        if (first)
            *w = (struct watch){.kind = watch_kinds[events[i].kind], .event = &events[i], .number = (unsigned)i + 1};
        w->fd = -1;
        w->events = POLLIN;
        w->kind->open(w, now, first);
    }
}

void watch_close(struct post *p)
{
    int id = __atomic_exchange_n(&p->kick, 0, __ATOMIC_SEQ_CST);

    if (id)
        sys1(SYS_timer_delete, id - 1);
    if (watch_kicked >= 0)
        sys1(SYS_close, watch_kicked);
    watch_kicked = -1;
    for (size_t i = 0; i < watch_count; i++)
        if (watches[i].kind->close)
            watches[i].kind->close(&watches[i]);
    if (watch_count)
        sample_close();
}

bool watch_any(void)
{
    return watch_count > 0;
}

void watch_fire(struct watch *w)
{
    post_event(watch_post, w->number);
}

void watch_acted(const struct record *r, unsigned number)
{
    for (size_t i = 0; i < watch_count; i++)
        if (watches[i].kind->acted)
            watches[i].kind->acted(&watches[i], r, watches[i].number == number);
}

static int64_t watch_next(int64_t limit)
{
    for (size_t i = 0; i < watch_count; i++)
        if (watches[i].due < limit)
            limit = watches[i].due;
    return limit;
}

void watch_wait(struct post *p, int64_t limit)
{
    struct pollfd fds[1 + EVENT_MAX] = {{watch_kicked, POLLIN, 0}};
    struct signalfd_siginfo siginfo;
    int64_t now = sys_clock(CLOCK_MONOTONIC), next = watch_next(limit);

    if (!__atomic_load_n(&p->kick, __ATOMIC_SEQ_CST) && next - now > WATCH_UNKICKED_NS)
        next = now + WATCH_UNKICKED_NS;
    for (size_t i = 0; i < watch_count; i++)
        fds[i + 1] = (struct pollfd){watches[i].fd, watches[i].events, 0};
    int64_t left = next > now ? next - now : 0;
    struct timespec timeout = {left / 1000000000, left % 1000000000};
    long ready = sys5(SYS_ppoll, fds, watch_count + 1, next == WATCH_NEVER ? NULL : &timeout, NULL, 0);
    while (ready > 0 && fds[0].revents && sys3(SYS_read, watch_kicked, &siginfo, sizeof siginfo) > 0)
        ;
    now = sys_clock(CLOCK_MONOTONIC);
    for (size_t i = 0; i < watch_count; i++) {
        short revents = ready > 0 ? fds[i + 1].revents : 0;

        if (revents || watches[i].due <= now)
            watches[i].kind->look(&watches[i], now, revents);
    }
}
