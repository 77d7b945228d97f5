/* state: the life of the library in a host: off, or ready once its constructor has run. */
#ifndef GIVEBACK_STATE_H
#define GIVEBACK_STATE_H

#include <stdbool.h>

/* Has this thread been restricted since we started (seccomp, landlock)? Handler, interposed functions. */
bool state_restricted(void);

#endif
