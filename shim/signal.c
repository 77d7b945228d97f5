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
#include "retry.h"
#include "state.h"
#include "sys.h"
#include "worker.h"

#define SIGNAL_MASK_BYTES 8 /* the kernel's sigset_t */
#define SIGNAL_COMPUTING 3  /* tries after which code outside every allocator is proof enough */
#define SIGNAL_OTHERS 4     /* tries after which other threads are asked too */
#define SIGNAL_FOREIGN 10   /* tries after which a thread that libc has not made is taken for the only one */
#define SIGNAL_TRIES 1000   /* about a minute */
#define SIGNAL_START_NS 100000000L /* a process that has not ended by then, nor called exec, may have its worker */

/* What the kernel keeps for a signal. */
struct signal_kernel_action {
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer;
    uint64_t mask;
};

static int signal_number;        /* ours; 0: none, or not yet */
static int signal_started;       /* the process that started with us */
static uint64_t signal_set_early; /* bits: the host has set an action for it before our constructor ran */

/* The signal that our handler stands for in this process, 0: none. Nobody can see from outside whose handler is installed, so the
 * tool reads it here before it sends one, whose default action would kill. */
__attribute__((visibility("default"))) extern int giveback_signal;
int giveback_signal;

static void signal_handle(int number, siginfo_t *info, void *context);

bool signal_is_handler(sighandler_t handler)
{
    return (uintptr_t)handler == (uintptr_t)signal_handle;
}

/* SIG_ERR: no such signal. */
static uintptr_t signal_installed(int number)
{
    struct signal_kernel_action now;

    return sys4(SYS_rt_sigaction, number, NULL, &now, SIGNAL_MASK_BYTES) == 0 ? now.handler : (uintptr_t)SIG_ERR;
}

bool signal_host_handles(int number, bool *undeferred)
{
    struct signal_kernel_action now;

    if (number == 32 || number == 33 || sys4(SYS_rt_sigaction, number, NULL, &now, SIGNAL_MASK_BYTES) < 0)
        return false;
    *undeferred = now.flags & SA_NODEFER;
    return now.handler != (uintptr_t)SIG_DFL && now.handler != (uintptr_t)SIG_IGN &&
           now.handler != (uintptr_t)signal_handle;
}

bool signal_is_handled(int number)
{
    uintptr_t handler = signal_installed(number);

    return handler != (uintptr_t)SIG_DFL && handler != (uintptr_t)SIG_IGN && handler != (uintptr_t)SIG_ERR;
}

bool signal_is_ours(int number)
{
    return number > 0 && signal_installed(number) == (uintptr_t)signal_handle;
}

/* Ours stands only where SIG_DFL stood that nobody had set: no flags, an empty mask. */
void signal_hide(struct sigaction *action)
{
    memset(action, 0, sizeof *action);
    action->sa_handler = SIG_DFL;
}

void signal_taken(int number, bool displaced)
{
    struct post *p;

    if (!signal_number && number > 0 && number < 65)
        __atomic_fetch_or(&signal_set_early, UINT64_C(1) << (number - 1), __ATOMIC_SEQ_CST);
    else if (displaced && (p = post_own())) {
        if (number == signal_number)
            __atomic_store_n(&giveback_signal, 0, __ATOMIC_SEQ_CST);
        if (state_restricted())
            return;
        if (number == signal_number) {
            if (p->pid == signal_started) /* not in each forked child that takes it back from us (a redis that saves) */
                notice_say(NOTICE_SIGNAL_OWNED, 0);
        } else { /* the one that retry has taken: it takes another */
            retry_end(p);
            signal_retry(p);
        }
    }
}

/* libc leaves its own two signals open in every mask. The one of pthread_cancel must wait until our handler has returned:
 * since 2.41 its handler acts only when it has interrupted the system call itself, and leaves the rest to the call's EINTR;
 * it would find our handler there, which then lets the kernel make the call again, or does so itself, and the thread sleeps on
 * (seen in one run of two under signals at 1 kHz, test/victim/cancel.c). Not the one of setuid: its sender waits for every
 * thread with a lock held that pthread_create takes. */
static void signal_defer_cancel(int number)
{
    struct signal_kernel_action now, before;

    if (sys4(SYS_rt_sigaction, number, NULL, &now, SIGNAL_MASK_BYTES) < 0 || now.handler != (uintptr_t)signal_handle)
        return;
    now.mask |= UINT64_C(1) << (SIGNAL_CANCEL - 1);
    if (sys4(SYS_rt_sigaction, number, &now, &before, SIGNAL_MASK_BYTES) == 0 && before.handler != now.handler)
        sys4(SYS_rt_sigaction, number, &before, NULL, SIGNAL_MASK_BYTES); /* the host has set its own since that look */
}

static void signal_put(int number, struct sigaction *before)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = signal_handle;
    action.sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO;
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    REAL(sigaction)(number, &action, before);
    signal_defer_cancel(number);
}

bool signal_install(int number)
{
    struct sigaction before;

    if (signal_installed(number) != (uintptr_t)SIG_DFL)
        return false;
    signal_put(number, &before);
    if (before.sa_handler == SIG_DFL)
        return true;
    REAL(sigaction)(number, &before, NULL); /* another thread of the host's has set its own since that look */
    return false;
}

void signal_remove(int number)
{
    struct signal_kernel_action none = {(uintptr_t)SIG_DFL, 0, 0, 0}, before;

    if (signal_installed(number) != (uintptr_t)signal_handle)
        return;
    /* Likewise. */
    if (sys4(SYS_rt_sigaction, number, &none, &before, SIGNAL_MASK_BYTES) == 0 &&
        before.handler != (uintptr_t)signal_handle)
        sys4(SYS_rt_sigaction, number, &before, NULL, SIGNAL_MASK_BYTES);
}

void signal_refresh(int number)
{
    if (signal_is_ours(number))
        signal_put(number, NULL);
}

void signal_start(int number)
{
    bool early = number && (signal_set_early & (UINT64_C(1) << (number - 1)));

    signal_number = number;
    signal_started = (int)sys0(SYS_getpid);
    if (number && (early || !signal_install(number)))
        notice_say(NOTICE_SIGNAL_OWNED, 0);
    else
        __atomic_store_n(&giveback_signal, number, __ATOMIC_SEQ_CST);
}

/* Several threads may run the handler at once. */
static unsigned signal_tries(const struct post *p)
{
    return __atomic_load_n(&p->tries, __ATOMIC_SEQ_CST);
}

/* Nothing can be done for what is pending: forget it and say why. */
static void signal_give_up(struct post *p, enum notice why, int error)
{
    unsigned upto;
    bool asked = post_take(p, POST_SIGNAL, &upto), came = __atomic_load_n(&p->pending, __ATOMIC_SEQ_CST);

    post_forget(p);
    __atomic_store_n(&p->wanted, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&p->tries, 0, __ATOMIC_SEQ_CST);
    retry_end(p);
    if (asked)
        notice_say(why, error);
    else
        notice_say_event(came ? why : NOTICE_UNWATCHED, error);
}

/* 20 tries of 2 ms, 400 of 10 ms, then ten a second. */
static long signal_delay(unsigned tries)
{
    return tries < 20 ? 2000000L : tries < 420 ? 10000000L : 100000000L;
}

void signal_want_worker(struct post *p)
{
    __atomic_store_n(&p->wanted, 1, __ATOMIC_SEQ_CST);
    if (!retry_soon(p, SIGNAL_START_NS, false))
        signal_give_up(p, NOTICE_NO_PROOF, 0);
}

void signal_retry(struct post *p)
{
    unsigned tries = __atomic_add_fetch(&p->tries, 1, __ATOMIC_SEQ_CST);

    if (tries > SIGNAL_TRIES || !retry_soon(p, signal_delay(tries), tries > SIGNAL_OTHERS && tries % 2))
        signal_give_up(p, NOTICE_NO_PROOF, 0);
}

/* Who posts while a try is under way leaves it at that (signal_post), and may have done so just before it ended. */
static void signal_stop_trying(struct post *p)
{
    __atomic_store_n(&p->tries, 0, __ATOMIC_SEQ_CST);
    retry_end(p);
    if (!post_has_worker(p) && post_needs_worker(p))
        signal_retry(p);
}

void signal_post(unsigned event)
{
    uint64_t all = ~UINT64_C(0), before; /* the kernel's sigset_t */
    int saved = errno;
    struct post *p = post_own();

    if (p) {
        post_event(p, event);
        if (!post_has_worker(p) && !retry_is_on(p) && !__atomic_load_n(&p->held, __ATOMIC_SEQ_CST) &&
            !__atomic_load_n(&p->ending, __ATOMIC_SEQ_CST)) {
            /* No handler of the host's leaves this by longjmp, nor a cancellation: retry's lock would stay taken. */
            sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
            if (state_restricted())
                signal_give_up(p, NOTICE_RESTRICTED, 0);
            else
                signal_retry(p);
            sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof all);
        }
    }
    errno = saved;
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
    else
        signal_stop_trying(p);
}

static void signal_handle(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    struct post *p = post_own();
    ucontext_t *u = context;
    struct context c;

    (void)info;
    if (p) {
        context_read(u, code_in_libc, &c);
        if (number == signal_number)
            post_event(p, POST_SIGNAL);
        else if (!__atomic_load_n(&p->retry_signal, __ATOMIC_SEQ_CST))
            signal_remove(number); /* forked while its parent was trying */
        if (!post_has_worker(p) && post_needs_worker(p))
            signal_try(p, u, &c, (uintptr_t)__builtin_return_address(0));
        else if (number != signal_number)
            signal_stop_trying(p);
        resume_call(u, &c);
    }
    context_leave(u);
    errno = saved;
}
