#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "alloc.h"
#include "event.h"
#include "gate.h"
#include "inherit.h"
#include "memory.h"
#include "metrics_write.h"
#include "options.h"
#include "policy.h"
#include "post.h"
#include "real.h"
#include "record.h"
#include "record_write.h"
#include "release.h"
#include "sys.h"
#include "table.h"
#include "text.h"
#include "watch.h"

#define WORKER_STACK (128 << 10)     /* enough for the deepest allocator (measured: under 20 KiB) */
#define WORKER_STACK_MAX (16 << 20)  /* static TLS of the host's libraries is taken out of it: grow up to this */
#define WORKER_LINGER_NS 2000000000L /* ends after so long without an event */
#define WORKER_LEAVE_MS 1000         /* how long fork and exit wait for it to leave an allocator */
#define WORKER_FLUSH_NS 100000000L   /* how long it waits for a thread to empty its caches: */
#define WORKER_FLUSH_TRIES 50        /* five seconds, in case that thread is gone */
#define WORKER_FILES_NS 10000000L    /* how long exit waits for it to remove what it has made: */
#define WORKER_FILES_TRIES 100       /* one second */
#define WORKER_GONE_TRIES 20000      /* of 100 us: how long unshare waits for it to be gone */

_Static_assert(POST_CALL_RELEASE == EVENT_MAX + 1, "the events of GIVEBACK_ON stand between the signal and the calls");

static struct {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*attr_init)(pthread_attr_t *);
    int (*attr_setdetachstate)(pthread_attr_t *, int);
    int (*attr_setstacksize)(pthread_attr_t *, size_t);
    int (*block)(int, const sigset_t *, sigset_t *);
} worker_real;

/* glibc's number of threads (libthread_db's by contract, exported since 2.34; NULL before). The thread that brings it to
 * zero ends the process: exit() runs on it. That must be the host's last thread, never the worker, on whose small stack
 * and empty descriptor table the host's own exit handlers would run; so the worker is not counted. */
static unsigned *worker_counted;

static char worker_signal[32];
static struct watch_host worker_host;
static int worker_process; /* the one that started with us, no forked child */
static bool worker_later;  /* events wait until the policy is ready for them */

/* The thread library is looked up, not linked: pthread_create is GLIBC_2.34 in a new libc and lives in libpthread in an
 * old one. */
static uintptr_t worker_find(const char *name)
{
    return (uintptr_t)real_find(name);
}

void worker_start(const struct settings *s, const struct event *events, size_t n, const char *program)
{
    char name[16];
    struct text t;

    worker_real.create = (__typeof__(worker_real.create))worker_find("pthread_create");
    worker_real.attr_init = (__typeof__(worker_real.attr_init))worker_find("pthread_attr_init");
    worker_real.attr_setdetachstate =
        (__typeof__(worker_real.attr_setdetachstate))worker_find("pthread_attr_setdetachstate");
    worker_real.attr_setstacksize = (__typeof__(worker_real.attr_setstacksize))worker_find("pthread_attr_setstacksize");
    worker_real.block = (__typeof__(worker_real.block))worker_find("pthread_sigmask");
    worker_counted = (unsigned *)worker_find("__nptl_nthreads");
    text_init(&t, worker_signal, sizeof worker_signal);
    text_str(&t, "signal:");
    text_str(&t, options_signal_name(s->signal, name, sizeof name));
    worker_host = (struct watch_host){.program = program, .signal = worker_signal, .settings = s, .events = events, .n_events = n};
    worker_process = (int)sys0(SYS_getpid);
}

bool worker_possible(void)
{
    return worker_real.create && worker_real.attr_init && worker_real.attr_setdetachstate &&
           worker_real.attr_setstacksize && worker_real.block;
}

/* What it opens is never seen in the host's table, and it keeps nothing open that the host closes, but what events are read
 * from, in the process that was given it. */
static void worker_leave_table(const struct post *p)
{
    int kept[EVENT_MAX];

    table_leave(kept, p->pid == worker_process ? inherit_numbers(kept) : 0);
}

static void worker_set_name(void)
{
    int fd = (int)sys4(SYS_openat, AT_FDCWD, "/proc/thread-self/comm", O_WRONLY | O_CLOEXEC, 0);

    if (fd >= 0) {
        sys3(SYS_write, fd, "giveback", 8);
        sys1(SYS_close, fd);
    }
}

static void worker_before_fork(void)
{
    gate_shut(WORKER_LEAVE_MS);
}

/* Runs in the parent only: the child has a page of zeros. */
static void worker_after_fork(void)
{
    gate_open();
}

static void worker_at_exit(void)
{
    struct post *p = post_own();

    if (!p)
        return;
    __atomic_store_n(&p->ending, 1, __ATOMIC_SEQ_CST);
    gate_shut(WORKER_LEAVE_MS); /* and never opened again */
    for (int files, i = 0; i < WORKER_FILES_TRIES && (files = __atomic_load_n(&p->files, __ATOMIC_SEQ_CST)); i++) {
        post_kick(p);
        post_wait(&p->files, files, WORKER_FILES_NS);
    }
}

/* Registered by the first worker, not at our start: handlers run last in, first out, and ours must run before those of
 * allocators, which take the very locks that the worker may be waiting for. Children made by fork inherit them. */
static void worker_register(void)
{
    static bool registered;

    if (registered || !gate_enter())
        return;
    registered = true;
    pthread_atfork(worker_before_fork, worker_after_fork, NULL);
    atexit(worker_at_exit);
    gate_leave();
}

static int64_t worker_clock_ms(clockid_t clock)
{
    return sys_clock(clock) / 1000000;
}

/* The thread that waits at a safe point empties its own caches in this allocator now; the worker waits for it, so that
 * nothing of `c` changes meanwhile. */
static void worker_flush(struct alloc_copy *c)
{
    struct post *p = post_own();

    if (!c->kind->flush || !__atomic_load_n(&p->owner, __ATOMIC_SEQ_CST))
        return;
    __atomic_store_n(&p->flush, c, __ATOMIC_SEQ_CST);
    post_progress(p);
    for (int i = 0; i < WORKER_FLUSH_TRIES; i++) {
        unsigned progress = __atomic_load_n(&p->progress, __ATOMIC_SEQ_CST);

        if (!__atomic_load_n(&p->flush, __ATOMIC_SEQ_CST))
            return;
        if (!__atomic_load_n(&p->owner, __ATOMIC_SEQ_CST))
            break; /* it has left: what it asked for was done before, and this release is another's */
        post_wait((int *)&p->progress, (int)progress, WORKER_FLUSH_NS);
    }
    __atomic_store_n(&p->flush, NULL, __ATOMIC_SEQ_CST);
}

/* As metrics count them. */
static unsigned worker_kind(unsigned event)
{
    return event == POST_SIGNAL ? METRICS_SIGNAL : event >= POST_CALL_RELEASE ? METRICS_CALL : worker_host.events[event - 1].kind;
}

static bool worker_is_automatic(unsigned event)
{
    return worker_kind(event) < EVENT_KINDS && event_table[worker_kind(event)].automatic;
}

/* What the event is called in its record, and what is to be done. */
static void worker_describe(struct record *r, struct post *p, unsigned event)
{
    static char label[POST_LABEL_MAX];

    r->event = worker_signal;
    r->action = RECORD_RELEASE;
    if (event >= POST_CALL_RELEASE) {
        r->event = event == POST_CALL_MARK ? "giveback_mark" : "giveback_release";
        r->action = event == POST_CALL_MARK ? RECORD_MARK : RECORD_RELEASE;
        for (size_t i = 0; i < sizeof label - 1; i++) /* when an owner has given up, the next one may be writing */
            label[i] = __atomic_load_n(&p->label[i], __ATOMIC_RELAXED);
        r->label = event != POST_CALL_LATE && label[0] ? label : NULL;
    } else if (event != POST_SIGNAL) {
        const struct event *e = &worker_host.events[event - 1];

        r->event = e->name;
        r->label = e->label[0] ? e->label : NULL;
        r->action = e->action;
    }
}

/* What the call returns that has asked for it. */
static int worker_result(const struct record *r)
{
    int succeeded = 0;

    for (unsigned i = 0; i < r->n_allocators; i++)
        succeeded += !r->allocator[i].error;
    return r->action == RECORD_MARK ? 1 : succeeded;
}

/* false: it was cut short, and is to be made again when a worker may be there again. */
static bool worker_act(struct post *p, unsigned event, unsigned times)
{
    static struct record r; /* there is one worker, and its stack is small */

    if (event == POST_CALL_ANON) {
        __atomic_store_n(&p->anon, memory_anon(), __ATOMIC_SEQ_CST);
        return true;
    }
    memset(&r, 0, sizeof r);
    r.time_ms = worker_clock_ms(CLOCK_REALTIME);
    r.pid = p->pid;
    r.program = worker_host.program;
    worker_describe(&r, p, event);
    r.merged = times - 1;
    watch_begin(&r, event);
    if (r.action == RECORD_MARK) {
        release_mark(&r);
    } else {
        release_run(&r, worker_flush);
        post_rearm(p);
    }
    if (__atomic_load_n(&p->quit, __ATOMIC_SEQ_CST))
        return false;
    if (__atomic_load_n(&p->ending, __ATOMIC_SEQ_CST))
        r.reason = "the program was ending, so not everything was asked";
    if (event >= POST_CALL_RELEASE)
        __atomic_store_n(&p->result, worker_result(&r), __ATOMIC_SEQ_CST);
    bool worth_a_line = policy_acted(&r, worker_is_automatic(event), sys_clock(CLOCK_MONOTONIC));
    bool written = record_write(&r, worth_a_line);
    metrics_write_acted(&r, worker_kind(event), !worth_a_line, !written);
    watch_acted(&r, event);
    return true;
}

static bool worker_is_to_end(struct post *p)
{
    return __atomic_load_n(&p->quit, __ATOMIC_SEQ_CST) || __atomic_load_n(&p->ending, __ATOMIC_SEQ_CST);
}

/* Nothing is to be done now. false: nor has anything come for so long that the worker may go. */
static bool worker_wait(struct post *p)
{
    int64_t now = sys_clock(CLOCK_MONOTONIC);

    if (__atomic_load_n(&p->wanted, __ATOMIC_SEQ_CST) && !watch_any()) { /* all of it has come to its end */
        watch_close(p);
        __atomic_store_n(&p->wanted, 0, __ATOMIC_SEQ_CST);
    }
    if (watch_any())
        watch_wait(p, worker_later ? policy_due() : WATCH_NEVER);
    else if (worker_later)
        post_wait((int *)&p->pending, 0, policy_due() > now ? policy_due() - now : 0);
    else
        return post_wait((int *)&p->pending, 0, WORKER_LINGER_NS) != -ETIMEDOUT ||
               __atomic_load_n(&p->pending, __ATOMIC_SEQ_CST);
    if (worker_later && policy_ready(sys_clock(CLOCK_MONOTONIC)))
        __atomic_store_n(&p->pending, 1, __ATOMIC_SEQ_CST);
    return true;
}

/* Carry out what has come; false: the worker is to end. */
static bool worker_step(struct post *p)
{
    bool pending = __atomic_exchange_n(&p->pending, 0, __ATOMIC_SEQ_CST);

    if (pending)
        worker_later = false;
    for (unsigned event = 0; pending && event < POST_EVENTS; event++) {
        unsigned upto, times = post_take(p, event, &upto);

        if (!times)
            continue;
        if (worker_is_automatic(event) && !policy_ready(sys_clock(CLOCK_MONOTONIC))) {
            worker_later = true;
            continue;
        }
        if (worker_is_to_end(p) || !worker_act(p, event, times)) {
            __atomic_store_n(&p->pending, 1, __ATOMIC_SEQ_CST);
            return false;
        }
        post_done(p, event, upto);
    }
    if (worker_is_to_end(p)) {
        if (worker_later) /* for the next worker */
            __atomic_store_n(&p->pending, 1, __ATOMIC_SEQ_CST);
        return false;
    }
    return pending || worker_wait(p);
}

/* May it go? An event that came while it made up its mind has either seen POST_RUNNING, then it is in `pending` now, or
 * POST_NO_WORKER, then its handler starts another worker. */
static bool worker_retire(struct post *p)
{
    int nobody = POST_NO_WORKER;

    __atomic_store_n(&p->worker_left_ms, worker_clock_ms(CLOCK_MONOTONIC), __ATOMIC_SEQ_CST);
    __atomic_store_n(&p->worker, POST_NO_WORKER, __ATOMIC_SEQ_CST);
    return !__atomic_load_n(&p->pending, __ATOMIC_SEQ_CST) || __atomic_load_n(&p->held, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&p->ending, __ATOMIC_SEQ_CST) ||
           !__atomic_compare_exchange_n(&p->worker, &nobody, POST_RUNNING, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Is the worker that ended last also gone from the kernel's list of threads? It needs a moment for that; a thread that
 * still has its id after a second is another one that got the number. */
static bool worker_is_gone(struct post *p)
{
    int tid = __atomic_load_n(&p->worker_tid, __ATOMIC_SEQ_CST);

    return !tid || sys3(SYS_tgkill, p->pid, tid, 0) == -ESRCH ||
           worker_clock_ms(CLOCK_MONOTONIC) - __atomic_load_n(&p->worker_left_ms, __ATOMIC_SEQ_CST) > 1000;
}

static void worker_pause(void)
{
    struct timespec moment = {0, 100000};

    sys2(SYS_nanosleep, &moment, NULL);
}

/* glibc counts the thread down when worker_main returns, so it is counted up before: which leaves some microseconds in
 * which the host's last thread might miss its end. Where that one has counted itself down already and is in exit(), the
 * worker would be the last one, and run exit() a second time: it never returns then. */
static void worker_leave(void)
{
    int never = 0;

    if (!worker_counted || __atomic_add_fetch(worker_counted, 1, __ATOMIC_SEQ_CST) > 1)
        return;
    __atomic_sub_fetch(worker_counted, 1, __ATOMIC_SEQ_CST);
    for (;;)
        post_wait(&never, 0, -1);
}

static void worker_open(struct post *p)
{
    static int process; /* whose the state of policy and watch is */

    policy_open(process != p->pid);
    worker_host.post = p;
    worker_host.forked = p->pid != worker_process;
    watch_open(&worker_host, process != p->pid);
    metrics_write_open(process != p->pid);
    process = p->pid;
    if (!watch_any())
        watch_close(p);
    __atomic_store_n(&p->wanted, watch_any(), __ATOMIC_SEQ_CST);
}

static void *worker_main(void *argument)
{
    struct post *p = argument;
    uintptr_t self = sys_thread();
    sigset_t all;

    /* The creator's mask is inherited and full already; libc's call leaves glibc's own two signals open, without which
     * setuid in the host would wait for this thread for ever. */
    memset(&all, 0xff, sizeof all);
    worker_real.block(SIG_SETMASK, &all, NULL);
    worker_leave_table(p);
    worker_set_name();
    __atomic_store_n(&p->own[0], self, __ATOMIC_SEQ_CST);
    while (!worker_is_gone(p)) /* only one is kept in mind */
        worker_pause();
    __atomic_store_n(&p->worker_tid, (int)sys0(SYS_gettid), __ATOMIC_SEQ_CST);
    __atomic_store_n(&p->worker, POST_RUNNING, __ATOMIC_SEQ_CST);
    worker_register();
    do {
        worker_open(p);
        while (worker_step(p))
            ;
        watch_close(p);
    } while (!worker_retire(p));
    /* Unless the next one is there already. Another thread may get this one's place in memory. */
    __atomic_compare_exchange_n(&p->own[0], &self, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    worker_leave();
    return NULL;
}

int worker_create(struct post *p)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int error;

    __atomic_store_n(&p->own[1], sys_thread(), __ATOMIC_SEQ_CST); /* the stack that it maps is ours */
    error = worker_real.attr_init(&attributes);
    if (!error)
        error = worker_real.attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (size_t size = WORKER_STACK; !error; size *= 2) {
        error = worker_real.attr_setstacksize(&attributes, size);
        if (!error)
            error = worker_real.create(&thread, &attributes, worker_main, p);
        if (error != EINVAL || size >= WORKER_STACK_MAX)
            break;
        error = 0;
    }
    __atomic_store_n(&p->own[1], 0, __ATOMIC_SEQ_CST);
    if (error)
        __atomic_store_n(&p->worker, POST_NO_WORKER, __ATOMIC_SEQ_CST);
    else if (worker_counted) /* here, where a thread of the host's is alive for sure */
        __atomic_sub_fetch(worker_counted, 1, __ATOMIC_SEQ_CST);
    return error;
}

void worker_hold(struct post *p)
{
    __atomic_add_fetch(&p->held, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&p->quit, 1, __ATOMIC_SEQ_CST);
    gate_shut(0);
    post_kick(p);
    for (int i = 0; i < WORKER_GONE_TRIES && (post_has_worker(p) || !worker_is_gone(p)); i++) {
        worker_pause();
        post_kick(p);
    }
    gate_open();
}

void worker_release(struct post *p)
{
    __atomic_store_n(&p->quit, 0, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&p->held, 1, __ATOMIC_SEQ_CST);
}
