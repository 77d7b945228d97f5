/* state: the life of the library in a host: off, or ready once its constructor has run. */
#ifndef GIVEBACK_STATE_H
#define GIVEBACK_STATE_H

#include <stdbool.h>

/* Has the process restricted itself with seccomp since we started? Handler, interposed functions. */
bool state_restricted(void);

#endif
