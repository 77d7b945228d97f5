/* frame: the frame out of which hooked functions are called, as arch/<machine>_hook.S lays it out: the frame pointer points to
 * `caller`. */
#ifndef GIVEBACK_FRAME_H
#define GIVEBACK_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "hook_call.h"

/* hook_call.c: how many of n bytes at `at` can be read. Makes a system call. */
uint32_t hook_readable(uintptr_t at, uint32_t n);

#if defined __x86_64__
struct hook_frame {
    const void *original;
    uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx;
    uint32_t mine; /* events of which this is the outermost call */
    uint32_t copy; /* bytes of `arguments` that may be read */
    const struct hook *hook;
    uint64_t rax;
    uintptr_t caller, return_address;
    unsigned char arguments[];
};
_Static_assert(offsetof(struct hook_frame, caller) == 96, "as in arch/x86_64_hook.S");
enum { HOOK_FRAME_POINTER = 6 /* rbp, as DWARF counts registers */ };
#define hook_probe hook_readable
#elif defined __aarch64__
struct hook_frame {
    const void *original;
    uint64_t x18, x[16];
    uint32_t mine, copy; /* as above */
    const struct hook *hook;
    uintptr_t caller, return_address;
    unsigned char arguments[];
};
_Static_assert(offsetof(struct hook_frame, caller) == 160, "as in arch/aarch64_hook.S");
enum { HOOK_FRAME_POINTER = 29 };
/* hook_readable, with what a system call may take of SVE's registers kept. */
uint32_t hook_probe(uintptr_t at, uint32_t n);
#endif

#endif
