/* signal: our handler, the proof on which it acts, and what the host is shown instead of it. */
#ifndef GIVEBACK_SIGNAL_H
#define GIVEBACK_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

struct post;

/* Once, from the constructor: install the handler for `number` (0: none), if its action is the default and the host
 * has not set that itself. */
void signal_start(int number);

/* For the interposed functions, which say what the host does with a signal. None of them changes errno. */
/* Is our handler the one installed? Asks the kernel, so it is right whatever way was used. */
bool signal_is_ours(int number);
/* Is this the address of our handler? */
bool signal_is_handler(sighandler_t handler);
/* Has the host a handler of its own for it (glibc's own two signals, 32 and 33, do not count)? undeferred: with SA_NODEFER. */
bool signal_host_handles(int number, bool *undeferred);
/* Has it any handler at all? glibc's own two signals have theirs once they are used. */
#define SIGNAL_CANCEL 32 /* pthread_cancel's, in every glibc */
bool signal_is_handled(int number);
/* What the host would see without us, in place of ours. */
void signal_hide(struct sigaction *action);
/* The host has set its own action for `number`; `displaced`: ours was there. */
void signal_taken(int number, bool displaced);
/* Our handler again, after a function that has changed its flags (siginterrupt). */
void signal_refresh(int number);

/* For retry, any context: our handler where the default action stands (false: it does not), and the default again where
 * our handler stands. */
bool signal_install(int number);
void signal_remove(int number);

/* Host thread, anywhere, with any lock of libc's or of an allocator's held: one more event of that number. Where there is no
 * worker the handler starts one soon: this is no place for it. errno is kept. */
void signal_post(unsigned event);
/* There are events that only a worker sees: start one soon, on the same proof. From the constructor and in a forked child,
 * neither of which is the place: a process that ends at once or calls exec never has a thread. */
void signal_want_worker(struct post *p);
/* Something is pending and no worker may have been started for it: try (again) soon, from the handler. */
void signal_retry(struct post *p);

#endif
