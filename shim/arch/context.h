/* context: what a handler can tell of the thread that it interrupted, and change in it. One header, one file a machine. */
#ifndef GIVEBACK_CONTEXT_H
#define GIVEBACK_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

enum context_call {
    CONTEXT_NO_CALL, /* it was computing */
    CONTEXT_RESTART, /* it stands on a system call instruction: the kernel is going to run it again by itself */
    CONTEXT_EINTR,   /* it stands behind one that returned -EINTR */
};

struct context {
    uintptr_t pc, sp, thread; /* thread: the thread pointer, 0 where it is not cheap to have */
    enum context_call call;
    long number;      /* of the system call, when there is one */
    long argument[6]; /* as the kernel got them */
};

/* Looks at the code around the program counter, so that must be readable: `in_libc` says whether it is in libc, where it
 * is; elsewhere no call is looked for. Handler only. */
void context_read(const ucontext_t *u, bool (*in_libc)(uintptr_t pc), struct context *c);
/* Have the call of c made again, as if it had not been interrupted. Only for CONTEXT_EINTR; false: this machine cannot
 * (aarch64 has lost the first argument by then), nothing is changed. */
bool context_again(ucontext_t *u, const struct context *c);
/* A signal frame that the kernel has made on a stack: the word that it is found by (`restorer`: what a handler returns to),
 * where its ucontext_t is when that word is at `at`, and whether that (its first CONTEXT_FRAME_BYTES) is one. */
#define CONTEXT_FRAME_BYTES 256
uintptr_t context_frame_word(uintptr_t restorer);
uintptr_t context_frame_context(uintptr_t at);
bool context_is_frame(const ucontext_t *u, uintptr_t at);
/* Of our own frame, before the handler returns: what is left of it on the stack afterwards is no frame any more. */
void context_leave(ucontext_t *u);
/* Call f(argument) on the stack that ends at `stack` (16-byte aligned is seen to), and come back. */
int context_call_on(uintptr_t stack, int (*f)(void *), void *argument);

#endif
