/* retry: the handler found no proof where it stood; have it run again soon, there or on another thread.
 *
 * With a signal of its own, which the host has left at the default and whose default is to be ignored (SIGURG, else
 * SIGWINCH or SIGCHLD), taken for as long as it tries: one that is still under way when we stop, when the host installs a handler for
 * *our* signal, or when the process calls exec, must neither reach that handler nor kill. */
#ifndef GIVEBACK_RETRY_H
#define GIVEBACK_RETRY_H

#include <stdbool.h>

struct post;

/* In so many nanoseconds. Handler, constructor, atfork's child, or host thread with every signal blocked or in an interposed
 * function. `another`: ask one more thread at once.
 * false: none of these signals is free. */
bool retry_soon(struct post *p, long ns, bool another);
/* Any context: is a try under way? Seen as false, it has ended, or ends without having seen what was posted before. */
bool retry_is_on(struct post *p);
/* The same contexts: no further tries; the host's default is back. */
void retry_end(struct post *p);

#endif
