#include "proof.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "code.h"
#include "signal.h"
#include "sys.h"

#define PROOF_SCAN (256 << 10)  /* how much of a stack is searched for frames of handlers */
#define PROOF_CHUNK 64          /* words read at a time: the handler's own stack may be small */
#define PROOF_ROOM (16 << 10)   /* stack that pthread_create and an allocator's first call need */
#define PROOF_PAGE 4096
#define PROOF_THREAD_MAX (64 << 20) /* a thread pointer further than this above the stack pointer belongs to another stack */

/* Reads memory that may not be there. 0 or -errno. */
static long proof_peek(uintptr_t at, void *to, size_t n)
{
    struct iovec local = {to, n}, remote = {(void *)at, n};
    long r = sys6(SYS_process_vm_readv, sys0(SYS_getpid), (long)&local, 1, (long)&remote, 1, 0);

    return r < 0 ? r : (size_t)r < n ? -EFAULT : 0;
}

/* Locks wait with FUTEX_WAIT, so only FUTEX_WAIT_BITSET (condition variables, semaphores, joins) shows that none is
 * being taken; in glibc before 2.34 also the code of pthread_cond_wait, and the shared FUTEX_WAIT on a thread's id by
 * which pthread_join waits. */
static bool proof_futex(const struct context *c)
{
    long operation = c->argument[1];

    if ((operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET || code_in_cond_wait(c->pc))
        return true;
    return operation == FUTEX_WAIT && c->argument[2] > 0 &&
           sys3(SYS_tgkill, sys0(SYS_getpid), c->argument[2], 0) == 0;
}

/* Blocking system calls that no allocator makes. A blocked one cannot be the read of a file of /proc, which some make:
 * that does not wait. */
static bool proof_call(const struct context *c)
{
    switch (c->number) {
    case SYS_read: case SYS_write: case SYS_readv: case SYS_writev:
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg: case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
    case SYS_accept: case SYS_accept4: case SYS_connect:
    case SYS_ppoll: case SYS_pselect6: case SYS_epoll_pwait:
#ifdef SYS_poll
    case SYS_poll: case SYS_select: case SYS_epoll_wait: case SYS_pause:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_nanosleep: case SYS_clock_nanosleep:
    case SYS_wait4: case SYS_waitid:
    case SYS_rt_sigsuspend: case SYS_rt_sigtimedwait:
    case SYS_flock: case SYS_fcntl:
    case SYS_msgrcv: case SYS_msgsnd: case SYS_semop: case SYS_semtimedop: case SYS_mq_timedreceive: case SYS_mq_timedsend:
    case SYS_io_getevents:
        return true;
    case SYS_futex:
        return proof_futex(c);
    default:
        return false;
    }
}

/* Can a handler of the host's be running? While one runs its signal is blocked, or its action says SA_NODEFER. (A frame
 * does not tell which signal it is for: siginfo is there for SA_SIGINFO only.) */
static bool proof_may_be_running(const ucontext_t *u)
{
    uint64_t blocked;
    bool undeferred;

    memcpy(&blocked, &u->uc_sigmask, sizeof blocked);
    for (int n = 1; n <= 64; n++)
        if (signal_host_handles(n, &undeferred) && (undeferred || blocked >> (n - 1) & 1))
            return true;
    return false;
}

/* Is it the frame of a handler that runs now? What is left of one that is over may lie in a buffer that was not written
 * yet: an idle perl was so taken for one inside a handler, every second time. Ours say that they are over
 * (context_leave). */
static bool proof_is_frame(uintptr_t at)
{
    char bytes[CONTEXT_FRAME_BYTES] __attribute__((aligned(16)));

    return proof_peek(context_frame_context(at), bytes, sizeof bytes) == 0 && context_is_frame((const void *)bytes, at);
}

/* Does the interrupted thread run a handler of the host's? That one may have interrupted malloc, and only looks blocked
 * in a harmless call. On an alternate stack: surely. Else a frame that the kernel made lies on the stack above. */
static bool proof_in_handler(const ucontext_t *u, const struct context *c, uintptr_t restorer)
{
    uintptr_t words[PROOF_CHUNK], mark = context_frame_word(restorer);
    uintptr_t at = c->sp & ~(uintptr_t)(sizeof(uintptr_t) - 1), end = at + PROOF_SCAN;

    if (proof_on_alternate_stack(u, c->sp))
        return true;
    if (!proof_may_be_running(u))
        return false;
    if (c->thread > at && c->thread - at < PROOF_THREAD_MAX && c->thread < end)
        end = c->thread;
    for (; at < end; at += sizeof words) {
        size_t n = end - at < sizeof words ? (end - at) / sizeof *words : PROOF_CHUNK;

        while (n && proof_peek(at, words, n * sizeof *words) < 0)
            n /= 2; /* the end of the stack's mapping */
        for (size_t i = 0; i < n; i++)
            if (words[i] == mark && proof_is_frame(at + i * sizeof *words))
                return true;
        if (n < PROOF_CHUNK)
            break;
    }
    return false;
}

bool proof_on_alternate_stack(const ucontext_t *u, uintptr_t sp)
{
    uintptr_t start = (uintptr_t)u->uc_stack.ss_sp;

    return !(u->uc_stack.ss_flags & SS_DISABLE) && sp >= start && sp - start < u->uc_stack.ss_size;
}

/* Where the new thread would be started from: on the stack we are on, or, when that is the alternate one, which is often
 * very small, on the interrupted one. */
static bool proof_room(const ucontext_t *u, const struct context *c)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    char byte;

    if (proof_on_alternate_stack(u, sp))
        sp = c->sp;
    for (uintptr_t below = PROOF_PAGE; below <= PROOF_ROOM; below += PROOF_PAGE)
        if (proof_peek(sp - below, &byte, 1) == -EFAULT)
            return false;
    return true;
}

/* glibc registers a robust list for every thread it makes, in the thread's own area; a raw clone has none, or runs with
 * its creator's area. */
bool proof_own_thread(void)
{
    void *head = NULL;
    size_t size;

    return sys3(SYS_get_robust_list, 0, &head, &size) < 0 || head;
}

bool proof_holds(const ucontext_t *u, const struct context *c, uintptr_t restorer, bool computing)
{
    bool outside = c->call != CONTEXT_NO_CALL ? proof_call(c) : computing && code_is_plain(c->pc);

    return outside && proof_own_thread() && proof_room(u, c) && !proof_in_handler(u, c, restorer);
}
