#include "safe.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "alloc.h"
#include "notice.h"
#include "post.h"
#include "state.h"
#include "sys.h"
#include "worker.h"

#define SAFE_LOOK_NS 100000000L /* looks again after so long, whatever is said */
#define SAFE_PATIENCE 300       /* so often without progress: half a minute */
#define SAFE_TURN_NS 2000000000 /* so long a thread waits for the one that is at a safe point already */
#define SAFE_LEAVING_MS 1000    /* so long a worker that has decided to end may take, as its successor waits for it */

/* See that there is a worker. false: there can be none. */
static bool safe_worker(struct post *p)
{
    uint64_t all = ~UINT64_C(0), before; /* the kernel's sigset_t */
    int none = POST_NO_WORKER, error;

    if (post_has_worker(p) || __atomic_load_n(&p->held, __ATOMIC_SEQ_CST))
        return true;
    if (__atomic_load_n(&p->ending, __ATOMIC_SEQ_CST))
        return false;
    if (state_restricted() || !worker_possible()) {
        notice_say_event(worker_possible() ? NOTICE_RESTRICTED : NOTICE_NO_THREADS_LIB, 0);
        return false;
    }
    if (!__atomic_compare_exchange_n(&p->worker, &none, POST_STARTING, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return true;
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    error = worker_create(p);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof all);
    if (error)
        notice_say_event(NOTICE_NO_THREAD, error);
    return !error;
}

/* The worker waits at an allocator for this thread to empty its caches there. */
static void safe_flush(struct post *p)
{
    void *asked = __atomic_load_n(&p->flush, __ATOMIC_SEQ_CST);
    const struct alloc_copy *c = asked;

    if (!c)
        return;
    c->kind->flush(c);
    /* It may have been given up meanwhile, and the next allocator be asked for. */
    if (__atomic_compare_exchange_n(&p->flush, &asked, NULL, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        post_progress(p);
}

static bool safe_is_done(struct post *p, unsigned event, unsigned ticket)
{
    return (int)(__atomic_load_n(&p->done[event], __ATOMIC_SEQ_CST) - ticket) >= 0;
}

/* One thread at a time: its caches are emptied, and it is waited for. By the clock, since a storm of other releases
 * wakes this one again and again. */
static bool safe_turn(struct post *p, int self)
{
    int64_t end = 0;

    for (;;) {
        unsigned progress = __atomic_load_n(&p->progress, __ATOMIC_SEQ_CST);
        int nobody = 0;

        if (__atomic_compare_exchange_n(&p->owner, &nobody, self, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return true;
        if (!end)
            end = sys_clock(CLOCK_MONOTONIC) + SAFE_TURN_NS;
        else if (sys_clock(CLOCK_MONOTONIC) >= end)
            return false;
        post_wait((int *)&p->progress, (int)progress, SAFE_LOOK_NS);
    }
}

/* Has work of ours come through a hook? The worker calls what the allocators call, and this function what makes a thread. The id of
 * a worker that has ended is kept until the next one, and may soon be another thread's. */
static bool safe_is_ours(struct post *p, int self)
{
    if (self == __atomic_load_n(&p->owner, __ATOMIC_SEQ_CST))
        return true;
    return self == __atomic_load_n(&p->worker_tid, __ATOMIC_SEQ_CST) &&
           (__atomic_load_n(&p->worker, __ATOMIC_SEQ_CST) == POST_RUNNING ||
            sys_clock(CLOCK_MONOTONIC) / 1000000 - __atomic_load_n(&p->worker_left_ms, __ATOMIC_SEQ_CST) < SAFE_LEAVING_MS);
}

void safe_point(unsigned event)
{
    int saved = errno;
    struct post *p = post_own();
    int self = (int)sys0(SYS_gettid);

    if (p && safe_is_ours(p, self))
        return;
    /* Not its turn: another thread's release runs for long, and what this one asked follows it, unwaited for. */
    if (p && safe_turn(p, self)) {
        unsigned ticket = post_event(p, event);

        for (int patience = SAFE_PATIENCE; patience && !safe_is_done(p, event, ticket) && safe_worker(p);) {
            unsigned progress = __atomic_load_n(&p->progress, __ATOMIC_SEQ_CST);

            safe_flush(p);
            if (!safe_is_done(p, event, ticket) &&
                post_wait((int *)&p->progress, (int)progress, SAFE_LOOK_NS) == -ETIMEDOUT)
                patience--;
        }
        __atomic_store_n(&p->owner, 0, __ATOMIC_SEQ_CST);
        post_progress(p);
    } else if (p) {
        post_event(p, event);
        safe_worker(p);
    }
    errno = saved;
}
