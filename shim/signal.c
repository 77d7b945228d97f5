#include "signal.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "arch/context.h"
#include "code.h"
#include "notice.h"
#include "post.h"
#include "proof.h"
#include "real.h"
#include "resume.h"
#include "state.h"
#include "sys.h"
#include "worker.h"

#define SIGNAL_MASK_BYTES 8 /* the kernel's sigset_t */
#define SIGNAL_COMPUTING 3  /* tries after which code outside every allocator is proof enough */
#define SIGNAL_OTHERS 4     /* tries after which other threads are asked too */
#define SIGNAL_FOREIGN 10   /* tries after which a thread that libc has not made is taken for the only one */
#define SIGNAL_TRIES 1000   /* about a minute, see signal_delay */
#define SIGNAL_PROBES 256   /* thread ids looked at in one try */
#define SIGNAL_IDS 65536    /* how far from the process's id threads are looked for */

/* What the kernel keeps for a signal. */
struct signal_kernel_action {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer;
    uint64_t mask;
};

static int signal_number;        /* ours; 0: none, or not yet */
static uint64_t signal_set_early; /* bits: the host has set an action for it before our constructor ran */
static char signal_cookie;       /* its address marks signals that we have sent to ourselves */

static void signal_handle(int number, siginfo_t *info, void *context);

bool signal_is_handler(sighandler_t handler)
{
    return (uintptr_t)handler == (uintptr_t)signal_handle;
}

static uintptr_t signal_installed(int number)
{
    struct signal_kernel_action now;

    return sys4(SYS_rt_sigaction, number, NULL, &now, SIGNAL_MASK_BYTES) == 0 ? now.handler : 0;
}

bool signal_is_ours(int number)
{
    return signal_number && number == signal_number && signal_installed(number) == (uintptr_t)signal_handle;
}

/* Ours stands only where SIG_DFL stood that nobody had set: no flags, an empty mask. */
void signal_hide(struct sigaction *action)
{
    memset(action, 0, sizeof *action);
    action->sa_handler = SIG_DFL;
}

void signal_taken(int number, bool displaced)
{
    if (!signal_number && number > 0 && number < 65)
        __atomic_fetch_or(&signal_set_early, UINT64_C(1) << (number - 1), __ATOMIC_SEQ_CST);
    else if (displaced && post_own() && !state_restricted())
        notice_say(NOTICE_SIGNAL_OWNED, 0);
}

static int signal_install(int number)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = signal_handle;
    action.sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO;
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask); /* libc keeps its own two signals open */
    return REAL(sigaction)(number, &action, NULL);
}

void signal_refresh(int number)
{
    if (signal_is_ours(number))
        signal_install(number);
}

void signal_start(int number)
{
    bool owned = number && ((signal_set_early & (UINT64_C(1) << (number - 1))) ||
                            signal_installed(number) != (uintptr_t)SIG_DFL);

    signal_number = number;
    if (owned)
        notice_say(NOTICE_SIGNAL_OWNED, 0);
    else if (number)
        signal_install(number);
}

/* 20 tries of 2 ms, 400 of 10 ms, then ten a second. */
static long signal_delay(unsigned tries)
{
    return tries < 20 ? 2000000L : tries < 420 ? 10000000L : 100000000L;
}

/* Several threads may run the handler at once. */
static unsigned signal_tries(const struct post *p)
{
    return __atomic_load_n(&p->tries, __ATOMIC_SEQ_CST);
}

/* A timer that signals the process: the kernel takes any thread that does not block the signal, so the chain of tries does
 * not break when a thread ends. */
static void signal_arm(struct post *p)
{
    struct itimerspec in = {{0, 0}, {0, signal_delay(signal_tries(p))}};
    int none = 0, id;

    if (__atomic_compare_exchange_n(&p->timer, &none, -1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        struct sigevent event;

        memset(&event, 0, sizeof event);
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = signal_number;
        event.sigev_value.sival_ptr = &signal_cookie;
        if (sys3(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) < 0)
            id = -1;
        __atomic_store_n(&p->timer, id + 1, __ATOMIC_SEQ_CST);
    }
    id = __atomic_load_n(&p->timer, __ATOMIC_SEQ_CST) - 1;
    if (id >= 0)
        sys4(SYS_timer_settime, id, 0, &in, NULL);
}

static void signal_disarm(struct post *p)
{
    int id = __atomic_exchange_n(&p->timer, 0, __ATOMIC_SEQ_CST) - 1;

    if (id >= 0)
        sys1(SYS_timer_delete, id);
}

/* Ask one more thread: the kernel always takes the first that does not block the signal, and that one may sit in a lock
 * for ever. Threads are found by trying ids, since reading /proc/self/task would need a descriptor in the host's table. */
static void signal_ask_another(struct post *p)
{
    int self = (int)sys0(SYS_gettid);
    siginfo_t info;

    memset(&info, 0, sizeof info);
    info.si_code = SI_QUEUE;
    info.si_value.sival_ptr = &signal_cookie;
    for (int i = 0; i < SIGNAL_PROBES; i++) {
        int tid = __atomic_load_n(&p->next_thread, __ATOMIC_RELAXED);

        if (tid < p->pid || tid - p->pid >= SIGNAL_IDS)
            tid = p->pid;
        __atomic_store_n(&p->next_thread, tid + 1, __ATOMIC_RELAXED);
        if (tid != self && sys3(SYS_tgkill, p->pid, tid, 0) == 0) {
            sys4(SYS_rt_tgsigqueueinfo, p->pid, tid, signal_number, &info);
            return;
        }
    }
}

/* Nothing can be done for what is pending: forget it and say why. */
static void signal_give_up(struct post *p, enum notice why, int error)
{
    __atomic_store_n(&p->pending, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&p->tries, 0, __ATOMIC_SEQ_CST);
    signal_disarm(p);
    notice_say(why, error);
}

void signal_retry(struct post *p)
{
    unsigned tries = __atomic_add_fetch(&p->tries, 1, __ATOMIC_SEQ_CST);

    if (tries > SIGNAL_TRIES) {
        signal_give_up(p, NOTICE_NO_PROOF, 0);
        return;
    }
    signal_arm(p);
    if (tries > SIGNAL_OTHERS && tries % 2)
        signal_ask_another(p);
}

static int signal_create(void *post)
{
    return worker_create(post);
}

/* On the interrupted stack when the handler is on the alternate one: that is often too small. 512 bytes are left out for
 * the red zone. */
static int signal_create_worker(struct post *p, const ucontext_t *u, const struct context *c)
{
    if (proof_on_alternate_stack(u, (uintptr_t)__builtin_frame_address(0)))
        return context_call_on(c->sp - 512, signal_create, p);
    return signal_create(p);
}

static void signal_try(struct post *p, const ucontext_t *u, const struct context *c, uintptr_t restorer)
{
    int none = POST_NO_WORKER, error;

    if (__atomic_load_n(&p->held, __ATOMIC_SEQ_CST) || __atomic_load_n(&p->ending, __ATOMIC_SEQ_CST))
        return;
    if (state_restricted()) {
        signal_give_up(p, NOTICE_RESTRICTED, 0);
        return;
    }
    if (!worker_possible()) {
        signal_give_up(p, NOTICE_NO_THREADS_LIB, 0);
        return;
    }
    if (!proof_holds(u, c, restorer, signal_tries(p) >= SIGNAL_COMPUTING)) {
        if (signal_tries(p) >= SIGNAL_FOREIGN && !proof_own_thread())
            signal_give_up(p, NOTICE_FOREIGN_THREAD, 0);
        else
            signal_retry(p);
        return;
    }
    if (!__atomic_compare_exchange_n(&p->worker, &none, POST_STARTING, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return;
    error = signal_create_worker(p, u, c);
    if (error && signal_tries(p) > SIGNAL_TRIES / 4) /* about two seconds: a limit that stays */
        signal_give_up(p, NOTICE_NO_THREAD, error);
    else if (error)
        signal_retry(p);
    else {
        __atomic_store_n(&p->tries, 0, __ATOMIC_SEQ_CST);
        signal_disarm(p);
    }
}

static void signal_handle(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    struct post *p = post_own();
    ucontext_t *u = context;
    struct context c;

    if (p) {
        context_read(u, code_in_libc, &c);
        if (info->si_value.sival_ptr != &signal_cookie || (info->si_code != SI_TIMER && info->si_code != SI_QUEUE))
            post_event(p);
        if (!post_has_worker(p) && __atomic_load_n(&p->pending, __ATOMIC_SEQ_CST))
            signal_try(p, u, &c, (uintptr_t)__builtin_return_address(0));
        resume_call(u, &c, number);
    }
    errno = saved;
}
