#include "context.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#define NUMBER_REACH 16 /* bytes before a system call in which its number is set (glibc 2.17 to 2.40: at most 9) */

static bool code_is_syscall(const unsigned char *at)
{
    return at[0] == 0x0f && at[1] == 0x05;
}

/* `mov $number,%eax`, the nearest one before the instruction. glibc sets the number last, with at most a reload of an
 * argument behind it: objdump -d libc.so.6 | grep -B3 syscall. */
static long code_number(const unsigned char *call)
{
    for (int back = 5; back <= NUMBER_REACH; back++) {
        const unsigned char *at = call - back;
        uint32_t number;

        memcpy(&number, at + 1, sizeof number);
        if (at[0] == 0xb8 && number < 1024)
            return (long)number;
    }
    /* glibc 2.41 makes every cancellable call from one place, which moves the number out of an argument register:
     * mov %rsi,%rax; mov %rdx,%rdi; mov %rcx,%rsi; mov %r8,%rdx; mov %r9,%r10; mov 8(%rsp),%r8; mov 16(%rsp),%r9 */
    static const unsigned char cancellable[] = {0x48, 0x89, 0xf0, 0x48, 0x89, 0xd7, 0x48, 0x89, 0xce};
    for (int back = (int)sizeof cancellable; back <= 48; back++)
        if (memcmp(call - back, cancellable, sizeof cancellable) == 0)
            return -1;
    return -2;
}

/* Does this processor (or emulator) leave the address behind a `syscall` in rcx? All did until FRED; asked, not assumed. */
static bool code_marks_calls(void)
{
    uintptr_t rcx = 0, behind, rax = SYS_getpid;

    __asm__ volatile("lea 1f(%%rip), %[behind]\n\t"
                     "syscall\n"
                     "1:"
                     : "+a"(rax), "+c"(rcx), [behind] "=&r"(behind)
                     :
                     : "r11", "memory");
    return rcx == behind;
}

void context_read(const ucontext_t *u, bool (*in_libc)(uintptr_t pc), struct context *c)
{
    const greg_t *r = u->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)r[REG_RIP];

    c->pc = (uintptr_t)r[REG_RIP];
    c->sp = (uintptr_t)r[REG_RSP];
    __asm__("mov %%fs:0, %0" : "=r"(c->thread));
    c->argument[0] = r[REG_RDI];
    c->argument[1] = r[REG_RSI];
    c->argument[2] = r[REG_RDX];
    c->argument[3] = r[REG_R10];
    c->argument[4] = r[REG_R8];
    c->argument[5] = r[REG_R9];
    c->call = CONTEXT_NO_CALL;
    c->number = -2;
    if (!in_libc(c->pc))
        return;
    if (code_is_syscall(code)) {
        /* Going to be run again, or just not run yet? An allocator may be about to read a file of /proc with a lock
         * held. rcx tells: a call that the kernel has seen has left the address behind it there. */
        if ((uintptr_t)r[REG_RCX] != c->pc + 2 && code_marks_calls())
            return;
        c->call = CONTEXT_RESTART;
        c->number = r[REG_RAX];
    } else if (r[REG_RAX] == -EINTR && code_is_syscall(code - 2)) {
        c->number = code_number(code - 2);
        if (c->number >= -1)
            c->call = CONTEXT_EINTR;
    }
}

bool context_is_frame(const uintptr_t *words, uintptr_t at)
{
    const ucontext_t *u = (const ucontext_t *)(words + 1);
    _Static_assert(sizeof(uintptr_t) * (CONTEXT_FRAME_WORDS - 1) >= offsetof(ucontext_t, uc_mcontext.fpregs), "");

    return !u->uc_link && (u->uc_mcontext.gregs[REG_CSGSFS] & 0xffff) == 0x33 &&
           (uintptr_t)u->uc_mcontext.gregs[REG_RSP] > at;
}

int context_call_on(uintptr_t stack, int (*f)(void *), void *argument)
{
    int result;

    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "mov %[stack], %%rsp\n\t"
                     "call *%[f]\n\t"
                     "mov %%rbx, %%rsp"
                     : "=a"(result), "+D"(argument)
                     : [stack] "r"(stack & ~(uintptr_t)15), [f] "r"(f)
                     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
                       "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                       "xmm14", "xmm15");
    return result;
}
