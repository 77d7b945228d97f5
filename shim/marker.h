/* marker: log: events. What the host writes to stdout or stderr is searched for their texts behind libc's own functions of
 * writing, when the kernel has taken it. */
#ifndef GIVEBACK_MARKER_H
#define GIVEBACK_MARKER_H

#include <stddef.h>

#include "event.h"

/* Once, from the constructor. Without a log: event nothing is replaced. The events must live as long as the process. */
void marker_start(const struct event *events, size_t n);

#endif
