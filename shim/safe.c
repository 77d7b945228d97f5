#include "safe.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "notice.h"
#include "post.h"
#include "procfs.h"
#include "state.h"
#include "sys.h"
#include "worker.h"

#define SAFE_LOOK_NS 100000000L /* looks again after so long, whatever is said */
#define SAFE_PATIENCE 300       /* so often without progress: half a minute */
#define SAFE_TURN_NS 2000000000 /* so long a thread waits for the one that is at a safe point already */
#define SAFE_LEAVING_MS 1000    /* so long a worker that has decided to end may take, as its successor waits for it */

static void safe_say(unsigned event, enum notice what, int error)
{
    if (event >= POST_CALL_RELEASE)
        notice_say_call(what, error);
    else
        notice_say_event(what, error);
}

/* See that there is a worker. false: there can be none. */
static bool safe_worker(struct post *p, unsigned event)
{
    uint64_t all = ~UINT64_C(0), before; /* the kernel's sigset_t */
    int none = POST_NO_WORKER, error;

    if (post_has_worker(p) || __atomic_load_n(&p->held, __ATOMIC_SEQ_CST))
        return true;
    if (__atomic_load_n(&p->ending, __ATOMIC_SEQ_CST))
        return false;
    if (state_restricted() || !worker_possible()) {
        safe_say(event, worker_possible() ? NOTICE_RESTRICTED : NOTICE_NO_THREADS_LIB, 0);
        return false;
    }
    if (!__atomic_compare_exchange_n(&p->worker, &none, POST_STARTING, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return true;
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    error = worker_create(p);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof all);
    if (error)
        safe_say(event, NOTICE_NO_THREAD, error);
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

/* Post it, and wait until it has been carried out. false: it was not. */
static bool safe_wait(struct post *p, unsigned event)
{
    unsigned ticket = post_event(p, event);

    for (int patience = SAFE_PATIENCE; patience && !safe_is_done(p, event, ticket) && safe_worker(p, event);) {
        unsigned progress = __atomic_load_n(&p->progress, __ATOMIC_SEQ_CST);

        if (__atomic_load_n(&p->owner, __ATOMIC_RELAXED) == (int)sys0(SYS_gettid))
            safe_flush(p);
        if (!safe_is_done(p, event, ticket) && post_wait((int *)&p->progress, (int)progress, SAFE_LOOK_NS) == -ETIMEDOUT)
            patience--;
    }
    return safe_is_done(p, event, ticket);
}

/* The owner's alone. Byte by byte, since the worker may be reading that of one which has given up. */
static void safe_set_label(struct post *p, const char *label)
{
    size_t n = label ? strnlen(label, sizeof p->label - 1) : 0;

    for (size_t i = 0; i < n; i++)
        __atomic_store_n(&p->label[i], label[i], __ATOMIC_RELAXED);
    __atomic_store_n(&p->label[n], '\0', __ATOMIC_RELAXED);
}

/* `late`: what is left for the worker when another thread's release runs for long, and nobody waits for it; 0: nothing. */
static int safe_run(unsigned event, const char *label, unsigned late)
{
    int saved = errno, self = (int)sys0(SYS_gettid), result = 0;
    struct post *p = post_own();

    if (!p || safe_is_ours(p, self)) /* it would wait for itself */
        return 0;
    if (safe_turn(p, self)) {
        safe_set_label(p, label);
        if (safe_wait(p, event))
            result = __atomic_load_n(&p->result, __ATOMIC_SEQ_CST);
        safe_set_label(p, NULL);
        __atomic_store_n(&p->owner, 0, __ATOMIC_SEQ_CST);
        post_progress(p);
    } else if (late) {
        post_event(p, late);
        safe_worker(p, late);
    }
    errno = saved;
    return result;
}

void safe_point(unsigned event)
{
    safe_run(event, NULL, event);
}

int safe_call(unsigned event, const char *label)
{
    return safe_run(event, label, event == POST_CALL_RELEASE ? POST_CALL_LATE : 0);
}

int64_t safe_anon(void)
{
    int saved = errno;
    struct post *p = post_own();
    int64_t anon = PROCFS_UNKNOWN;

    if (p && !safe_is_ours(p, (int)sys0(SYS_gettid)) && safe_wait(p, POST_CALL_ANON))
        anon = __atomic_load_n(&p->anon, __ATOMIC_SEQ_CST);
    errno = saved;
    return anon;
}
