#include "context.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sys.h"

#define NUMBER_REACH 16 /* bytes before a system call in which its number is set (glibc 2.17 to 2.40: at most 9) */
#define LOAD_REACH 64   /* bytes before that, when it comes by way of another register (glibc 2.31: 34) */
#define CALLER_REACH 40 /* bytes before a call in which its second argument is set (glibc 2.41 to 2.43: at most 12) */

static bool code_is_syscall(const unsigned char *at)
{
    return at[0] == 0x0f && at[1] == 0x05;
}

/* A word of the interrupted thread's stack, by what `mov offset(%rsp),%reg` has after its opcode. */
static long code_stack_word(uintptr_t sp, unsigned char offset)
{
    return *(const long *)(sp + offset);
}

/* glibc 2.41 makes every cancellable call from one of two places, to both of which the number comes on the stack.
 * See objdump -d libc.so.6 around the `syscall` behind these bytes. */
static long code_cancellable_number(const unsigned char *call, uintptr_t sp)
{
    /* mov N(%rsp),%rax; syscall: a process with one thread */
    static const unsigned char load[] = {0x48, 0x8b, 0x44, 0x24};
    /* mov %rsi,%rax; mov %rdx,%rdi; mov %rcx,%rsi: __syscall_cancel_arch, called with the number in rsi */
    static const unsigned char shuffle[] = {0x48, 0x89, 0xf0, 0x48, 0x89, 0xd7, 0x48, 0x89, 0xce};
    /* mov N(%rsp),%rsi, in its caller */
    static const unsigned char pass[] = {0x48, 0x8b, 0x74, 0x24};
    bool shuffled = false;

    if (memcmp(call - 5, load, sizeof load) == 0)
        return code_stack_word(sp, call[-1]);
    for (int back = (int)sizeof shuffle; back <= CALLER_REACH; back++)
        shuffled |= memcmp(call - back, shuffle, sizeof shuffle) == 0;
    const unsigned char *caller = (const unsigned char *)code_stack_word(sp, 0);
    for (int back = 10; shuffled && back <= CALLER_REACH; back++)
        if (memcmp(caller - back, pass, sizeof pass) == 0)
            return code_stack_word(sp + sizeof(long), caller[sizeof pass - (size_t)back]);
    return -1;
}

/* The general registers by the number that an instruction has for them. */
static const unsigned char code_register[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

/* `mov $number,%reg` somewhere in the last bytes before `at`, for a register that the call itself has overwritten. */
static long code_loaded(const unsigned char *at, unsigned reg)
{
    for (int back = 5; back <= LOAD_REACH; back++) {
        uint32_t number;

        memcpy(&number, at - back + 1, sizeof number);
        if (at[-back] == 0xb8 + (reg & 7) && (reg >= 8) == (at[-back - 1] == 0x41) && number < 1024)
            return (long)number;
    }
    return -1;
}

/* The number of the call that has returned, by the last instruction that sets eax: `mov $number,%eax`, with at most a
 * reload of an argument behind it (objdump -d libc.so.6 | grep -B3 syscall), or `mov %reg,%eax`, whose register still has
 * it unless it is rcx or r11, which a call overwrites (sem_timedwait in glibc 2.31). -1: not to be told. */
static long code_number(const unsigned char *call, const greg_t *r)
{
    for (int back = 2; back <= NUMBER_REACH; back++) {
        const unsigned char *at = call - back;
        uint32_t number;

        if (at[0] == 0x89 && (at[1] & 0xc7) == 0xc0) {
            unsigned reg = ((at[1] >> 3) & 7u) + (at[-1] == 0x44 ? 8 : 0);

            return reg == 1 || reg == 11 ? code_loaded(at, reg) : (long)r[code_register[reg]];
        }
        memcpy(&number, at + 1, sizeof number);
        if (back >= 5 && at[0] == 0xb8 && number < 1024)
            return (long)number;
    }
    return code_cancellable_number(call, (uintptr_t)r[REG_RSP]);
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
    c->thread = sys_thread();
    c->argument[0] = r[REG_RDI];
    c->argument[1] = r[REG_RSI];
    c->argument[2] = r[REG_RDX];
    c->argument[3] = r[REG_R10];
    c->argument[4] = r[REG_R8];
    c->argument[5] = r[REG_R9];
    c->call = CONTEXT_NO_CALL;
    c->number = -1;
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
        c->number = code_number(code - 2, r);
        if (c->number >= 0)
            c->call = CONTEXT_EINTR;
    }
}

bool context_again(ucontext_t *u, const struct context *c)
{
    u->uc_mcontext.gregs[REG_RIP] = (greg_t)c->pc - 2;
    u->uc_mcontext.gregs[REG_RAX] = c->number;
    return true;
}

uintptr_t context_frame_word(uintptr_t restorer)
{
    return restorer;
}

uintptr_t context_frame_context(uintptr_t at)
{
    return at + sizeof at;
}

bool context_is_frame(const ucontext_t *u, uintptr_t at)
{
    _Static_assert(CONTEXT_FRAME_BYTES >= offsetof(ucontext_t, uc_mcontext.fpregs), "");

    return !u->uc_link && (u->uc_mcontext.gregs[REG_CSGSFS] & 0xffff) == 0x33 &&
           (uintptr_t)u->uc_mcontext.gregs[REG_RSP] > at;
}

/* The kernel does not read uc_link on the way back. */
void context_leave(ucontext_t *u)
{
    u->uc_link = u;
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
