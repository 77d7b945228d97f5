/* wrap_signal: every way libc has of setting a signal's action. Host threads, before our constructor too, and in the child
 * of a vfork. Each passes its call on unchanged; only what it returns of an action of ours is shown as SIG_DFL.
 *
 * What libc does inside itself (system, posix_spawn) is not seen here and need not be: it does not touch our signal. A
 * host that makes the raw system call displaces our handler just the same: it is never put back. */
#include <errno.h>
#include <signal.h>

#include "real.h"
#include "signal.h"

/* The X/Open functions are deprecated, and programs call them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define WRAP __attribute__((visibility("default")))

/* Declared only for other standards than ours, or not at all. */
sighandler_t bsd_signal(int number, sighandler_t handler);
sighandler_t sysv_signal(int number, sighandler_t handler);
sighandler_t __sysv_signal(int number, sighandler_t handler);
int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

/* The old action as the host is to see it. */
static sighandler_t wrap_old(int number, sighandler_t old)
{
    bool displaced = signal_is_handler(old);

    if (old != SIG_ERR)
        signal_taken(number, displaced);
    return displaced ? SIG_DFL : old;
}

static int wrap_sigaction(__typeof__(sigaction) *real, int number, const struct sigaction *action, struct sigaction *old)
{
    bool setting = action != NULL, ours;
    struct sigaction before;
    int r = real(number, action, &before);

    if (r != 0)
        return r;
    ours = (before.sa_flags & SA_SIGINFO) && signal_is_handler(before.sa_handler);
    if (ours)
        signal_hide(&before);
    if (old)
        *old = before;
    if (setting)
        signal_taken(number, ours);
    return r;
}

WRAP int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    return wrap_sigaction(REAL(sigaction), number, action, old);
}

WRAP int __sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    return wrap_sigaction(REAL(__sigaction), number, action, old);
}

WRAP sighandler_t signal(int number, sighandler_t handler)
{
    return wrap_old(number, REAL(signal)(number, handler));
}

WRAP sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return wrap_old(number, REAL(bsd_signal)(number, handler));
}

WRAP sighandler_t ssignal(int number, sighandler_t handler)
{
    return wrap_old(number, REAL(ssignal)(number, handler));
}

WRAP sighandler_t sysv_signal(int number, sighandler_t handler)
{
    return wrap_old(number, REAL(sysv_signal)(number, handler));
}

WRAP sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    return wrap_old(number, REAL(__sysv_signal)(number, handler));
}

/* SIG_HOLD only blocks the signal; the action stays. */
WRAP sighandler_t sigset(int number, sighandler_t handler)
{
    sighandler_t old = REAL(sigset)(number, handler);

    if (handler != SIG_HOLD && old != SIG_HOLD)
        return wrap_old(number, old);
    return signal_is_handler(old) ? SIG_DFL : old;
}

WRAP int sigignore(int number)
{
    bool ours = signal_is_ours(number);
    int r = REAL(sigignore)(number);

    if (r == 0)
        signal_taken(number, ours);
    return r;
}

/* It changes a flag of whatever is installed; ours keeps its own. */
WRAP int siginterrupt(int number, int flag)
{
    int r = REAL(siginterrupt)(number, flag);

    signal_refresh(number);
    return r;
}
