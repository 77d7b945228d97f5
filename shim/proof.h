/* proof: may the worker be started from a handler, on the thread that it has interrupted? */
#ifndef GIVEBACK_PROOF_H
#define GIVEBACK_PROOF_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "arch/context.h"

/* pthread_create allocates and takes locks of libc. So the answer is yes only when the interrupted thread can be in no
 * allocator and hold no such lock:
 *  - it is blocked in a system call of libc that no allocator makes (or it computes, in an object that neither is nor
 *    serves the allocator, if `computing` is allowed),
 *  - it is not itself running a handler of the host's that has interrupted who knows what,
 *  - it is a thread that libc made (a raw clone has no thread area of its own),
 *  - and there is room on the stack.
 * Handler only. `restorer`: what our handler returns to. */
bool proof_holds(const ucontext_t *u, const struct context *c, uintptr_t restorer, bool computing);
/* Is the calling thread one that libc made? Else it is never the right one. */
bool proof_own_thread(void);
/* Is the handler on the alternate stack that the host has set up for this thread? */
bool proof_on_alternate_stack(const ucontext_t *u, uintptr_t sp);

#endif
