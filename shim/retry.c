#include "retry.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "post.h"
#include "signal.h"
#include "sys.h"

#define RETRY_PROBES 256 /* thread ids looked at in one try */
#define RETRY_IDS 65536  /* how far from the process's id threads are looked for */

#define RETRY_MISSED_NS 2000000L

/* Whoever finds it taken leaves word and goes away: waiting for it in a handler could be waiting for the thread below. */
static bool retry_lock(struct post *p)
{
    return __atomic_fetch_add(&p->retry_busy, 1, __ATOMIC_SEQ_CST) == 0;
}

/* false: somebody came meanwhile, and it is still ours. The timer may have been armed and have fired since for that one,
 * who went away without arming it again: seen on a loaded machine, one in some thousand, that nothing came any more. */
static bool retry_unlock(struct post *p)
{
    int alone = 1;

    if (__atomic_compare_exchange_n(&p->retry_busy, &alone, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return true;
    __atomic_store_n(&p->retry_busy, 1, __ATOMIC_SEQ_CST);
    return false;
}

/* A timer that signals the process: the kernel takes any thread that does not block the signal, so the chain of tries does
 * not break when a thread ends. */
static bool retry_begin(struct post *p)
{
    static const int ignored[] = {SIGURG, SIGWINCH, SIGCHLD};
    struct sigevent event;
    int id;

    for (size_t i = 0; !p->retry_signal && i < sizeof ignored / sizeof *ignored; i++)
        if (signal_install(ignored[i]) || signal_is_ours(ignored[i])) /* ours: the parent's, which was trying when it forked */
            __atomic_store_n(&p->retry_signal, ignored[i], __ATOMIC_SEQ_CST);
    if (!p->retry_signal)
        return false;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = p->retry_signal;
    if (!p->timer && sys3(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) == 0)
        p->timer = id + 1;
    return p->timer;
}

/* Ask one more thread: the kernel always takes the first that does not block the signal, and that one may sit in a lock
 * for ever. Threads are found by trying ids, since reading /proc/self/task would need a descriptor in the host's table. */
static void retry_ask_another(struct post *p)
{
    int self = (int)sys0(SYS_gettid);

    for (int i = 0; i < RETRY_PROBES; i++) {
        int tid = p->next_thread;

        if (tid < p->pid || tid - p->pid >= RETRY_IDS)
            tid = p->pid;
        p->next_thread = tid + 1;
        if (tid != self && sys3(SYS_tgkill, p->pid, tid, 0) == 0) {
            sys3(SYS_tgkill, p->pid, tid, p->retry_signal);
            return;
        }
    }
}

bool retry_soon(struct post *p, long ns, bool another)
{
    struct itimerspec in = {{0, 0}, {0, ns}};
    bool begun;

    if (!retry_lock(p))
        return true;
    do {
        begun = retry_begin(p);
        if (begun) {
            sys4(SYS_timer_settime, p->timer - 1, 0, &in, NULL);
            if (another)
                retry_ask_another(p);
        }
    } while (!retry_unlock(p));
    return begun;
}

bool retry_is_on(struct post *p)
{
    return __atomic_load_n(&p->retry_signal, __ATOMIC_SEQ_CST);
}

void retry_end(struct post *p)
{
    if (!retry_lock(p))
        return;
    if (p->timer)
        sys1(SYS_timer_delete, p->timer - 1);
    p->timer = 0;
    if (p->retry_signal)
        signal_remove(p->retry_signal);
    __atomic_store_n(&p->retry_signal, 0, __ATOMIC_SEQ_CST);
    if (!retry_unlock(p)) {
        __atomic_store_n(&p->retry_busy, 0, __ATOMIC_SEQ_CST);
        if (!post_has_worker(p) && post_needs_worker(p))
            retry_soon(p, RETRY_MISSED_NS, false);
    }
}
