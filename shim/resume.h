/* resume: a host that has never installed a handler does not expect EINTR; have the interrupted call made again. */
#ifndef GIVEBACK_RESUME_H
#define GIVEBACK_RESUME_H

#include <ucontext.h>

#include "arch/context.h"

/* Once, from the constructor. */
void resume_start(void);
/* Handler only, as the last thing it does. Nothing is changed where a repeated call would not be exactly the one that
 * was interrupted, or where the host has a handler of its own, for any signal: then EINTR passes, which is lawful. */
void resume_call(ucontext_t *u, const struct context *c);

#endif
