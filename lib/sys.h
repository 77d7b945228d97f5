/* sys: system calls without libc's wrappers.
 *
 * Why: they leave errno alone, are no cancellation points, are not seen by other preloaded libraries, need no symbol
 * of a newer glibc, and work before libc is relocated and in a signal handler. Each returns the result or -errno. */
#ifndef GIVEBACK_SYS_H
#define GIVEBACK_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#if defined __x86_64__
static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
}
#elif defined __aarch64__
static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}
#else
#error "giveback knows x86-64 and aarch64"
#endif

#define sys0(n) sys6((n), 0, 0, 0, 0, 0, 0)
#define sys1(n, a) sys6((n), (long)(a), 0, 0, 0, 0, 0)
#define sys2(n, a, b) sys6((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define sys3(n, a, b, c) sys6((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys4(n, a, b, c, d) sys6((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys5(n, a, b, c, d, e) sys6((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* What tells this thread from all others: its thread pointer. */
static inline uintptr_t sys_thread(void)
{
    uintptr_t self;

#if defined __x86_64__
    __asm__("mov %%fs:0, %0" : "=r"(self));
#else
    __asm__("mrs %0, tpidr_el0" : "=r"(self));
#endif
    return self;
}

/* Nanoseconds of a clock. */
static inline int64_t sys_clock(clockid_t clock)
{
    struct timespec t;

    sys2(SYS_clock_gettime, clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

#endif
