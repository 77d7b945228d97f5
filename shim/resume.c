#include "resume.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "real.h"
#include "signal.h"

static bool resume_new_cancel;

/* A sleep may be made again when what is left of it stands where its length stood (sleep(3), std::this_thread::sleep_for),
 * or when it ends at a given time. */
static bool resume_sleep(long flags, long length, long left)
{
    return (flags & TIMER_ABSTIME) || (left && left == length);
}

/* Would the same call, with the same registers, be the rest of the one that was interrupted? Without a timeout, with an
 * absolute one, and with one that the kernel counts down in place. SA_RESTART sees to all others that can be repeated. */
static bool resume_is_exact(const struct context *c)
{
    const long *a = c->argument;

    switch (c->number) {
#ifdef SYS_poll
    case SYS_poll: return (int)a[2] < 0;
    case SYS_epoll_wait: return (int)a[3] < 0;
    case SYS_select: case SYS_pause: return true;
#endif
    case SYS_ppoll: case SYS_pselect6: case SYS_rt_sigsuspend: return true;
    case SYS_epoll_pwait: return (int)a[3] < 0;
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2: return !a[3];
#endif
    case SYS_rt_sigtimedwait: return !a[2];
    case SYS_nanosleep: return resume_sleep(0, a[0], a[1]);
    case SYS_clock_nanosleep: return resume_sleep(a[1], a[2], a[3]);
    case SYS_futex: return (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    case SYS_semop: case SYS_msgrcv: case SYS_msgsnd: case SYS_mq_timedreceive: case SYS_mq_timedsend: return true;
    case SYS_semtimedop: return !a[3];
    case SYS_io_getevents: return !a[4];
    default: return false;
    }
}

/* Has the host a handler of its own, for any signal? Then the EINTR may be the trace of that handler: a signal of the
 * host's may have come a moment before ours, and `while (!stop) poll(fds, n, -1)` would sleep on for ever if its EINTR
 * were lost. That moment cannot be told apart afterwards (a pending signal can, one whose handler has just returned
 * cannot: 1 in 12,000 was lost so), so such a host sees its EINTR, as it must expect anyway. */
static bool resume_host_handles(void)
{
    bool undeferred;

    for (int n = 1; n <= 64; n++)
        if (signal_host_handles(n, &undeferred))
            return true;
    return false;
}

/* pthread_cancel's signal leaves no trace either: since 2.41 its handler returns and trusts in the EINTR of the call that it
 * has interrupted. Before, it never returns out of a call that can be cancelled. */
static bool resume_cancelled_by_eintr(void)
{
    return resume_new_cancel && signal_is_handled(SIGNAL_CANCEL);
}

void resume_start(void)
{
    const char *(*version)(void) = (const char *(*)(void))(uintptr_t)real_find("gnu_get_libc_version");

    resume_new_cancel = version && strncmp(version(), "2.41", 4) >= 0; /* two digits since 2.10, long before the floor */
}

void resume_call(ucontext_t *u, const struct context *c)
{
    if (c->call == CONTEXT_EINTR && resume_is_exact(c) && !resume_host_handles() &&
        !resume_cancelled_by_eintr())
        context_again(u, c);
}
