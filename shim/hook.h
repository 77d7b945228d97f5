/* hook: enter: and exit: events on native functions: which ones, in which objects, and which not. */
#ifndef GIVEBACK_HOOK_H
#define GIVEBACK_HOOK_H

#include <stddef.h>

#include "event.h"

/* Once, from the constructor. Without an event on a native function nothing is read, mapped or patched. The events must
 * live as long as the process. */
void hook_start(const struct event *events, size_t n);

#endif
