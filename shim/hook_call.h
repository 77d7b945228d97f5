/* hook_call: what happens when a hooked function is called: it runs as a real call out of a frame of ours, which knows by
 * itself whether it is the outermost one.
 *
 * Of each event the stack address of its outermost call is kept per thread (64 bytes of static TLS, all that there is). A
 * frame that lies below it on the same stack is nested and does not fire. Any other proves that the outermost one was left by
 * longjmp, or by a switch to another stack: its exit: fires then. So nothing on the stack is ever read that may be gone, an
 * event fires once for a call at most, and nothing needs a destructor. */
#ifndef GIVEBACK_HOOK_CALL_H
#define GIVEBACK_HOOK_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"

/* One hooked function. */
struct hook {
    const void *original; /* its moved begin, which goes on in the function */
    uint32_t events;      /* bits */
    uint32_t stack;       /* bytes of stack arguments that are copied */
    unsigned char *slot;  /* its trampoline */
    uintptr_t at;         /* where it was patched */
    uint64_t object;      /* identity of its object; 0: free, that was unloaded */
    const void *instead;  /* what runs in its place, and calls `original` itself; NULL: the stub (entry) */
    const char *not_far;  /* why its trampoline must be near (hookable.h); NULL: it need not be */
};

/* Where trampolines go, with their hook on the stack, or in x16 (arch/). */
void hook_stub(void);

/* Constructor: which events fire at the end of a call; the others do at its begin. */
void hook_call_start(uint32_t exits);

#endif
