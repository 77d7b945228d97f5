#include "context.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sys.h"

#define SVC 0xd4000001u /* svc #0 */

void context_read(const ucontext_t *u, bool (*in_libc)(uintptr_t pc), struct context *c)
{
    const mcontext_t *m = &u->uc_mcontext;
    uint32_t here, before;

    c->pc = (uintptr_t)m->pc;
    c->sp = (uintptr_t)m->sp;
    c->thread = sys_thread();
    for (int i = 0; i < 6; i++)
        c->argument[i] = (long)m->regs[i];
    c->call = CONTEXT_NO_CALL;
    c->number = -1;
    if (!in_libc(c->pc))
        return;
    memcpy(&here, (const void *)c->pc, sizeof here);
    memcpy(&before, (const void *)(c->pc - 4), sizeof before);
    if (here == SVC)
        c->call = CONTEXT_RESTART;
    else if (before == SVC && (long)m->regs[0] == -EINTR)
        c->call = CONTEXT_EINTR; /* its first argument is gone, the number in x8 is not */
    if (c->call != CONTEXT_NO_CALL)
        c->number = (long)m->regs[8];
}

bool context_again(ucontext_t *u, const struct context *c)
{
    (void)u;
    (void)c;
    return false;
}

/* The return address is not in the frame here. What follows the registers in it begins with the header of the
 * floating-point ones: FPSIMD_MAGIC and their size. */
uintptr_t context_frame_word(uintptr_t restorer)
{
    (void)restorer;
    return UINT64_C(0x0000021046508001);
}

uintptr_t context_frame_context(uintptr_t at)
{
    return at - offsetof(ucontext_t, uc_mcontext.__reserved);
}

bool context_is_frame(const ucontext_t *u, uintptr_t at)
{
    (void)at;
    return !u->uc_link;
}

/* The kernel does not read uc_link on the way back. */
void context_leave(ucontext_t *u)
{
    u->uc_link = u;
}

int context_call_on(uintptr_t stack, int (*f)(void *), void *argument)
{
    register void *x0 __asm__("x0") = argument;

    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %[stack]\n\t"
                     "blr %[f]\n\t"
                     "mov sp, x19"
                     : "+r"(x0)
                     : [stack] "r"(stack & ~(uintptr_t)15), [f] "r"(f)
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "x18", "x19", "x30", "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
                       "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
                       "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
    return (int)(long)x0;
}
