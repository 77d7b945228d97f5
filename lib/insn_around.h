/* insn_around: does anything but a function itself go into the middle of its first bytes? Hand-written functions do that to
 * their neighbours (glibc's mempcpy enters memmove behind its first instruction), and the parts that compilers move away from a
 * function (.cold) come back into it. Overwriting bytes that something goes into would be the end of the host.
 *
 * Pure. Not the whole object is searched, which would read all of it from disk: what lies near, and what the function
 * itself goes to. */
#ifndef GIVEBACK_INSN_AROUND_H
#define GIVEBACK_INSN_AROUND_H

#include <stddef.h>
#include <stdint.h>

/* The code that a function stands in: a whole segment. */
struct insn_text {
    const unsigned char *code;
    size_t size;
    uint64_t at; /* where code[0] runs */
};

/* The function is `size` bytes at `at`; what would be overwritten goes from `patched` to `end`. NULL, or why it is not to be
 * hooked, as the end of a sentence. */
const char *insn_check_around(const struct insn_text *text, uint64_t at, size_t size, uint64_t patched, uint64_t end);
/* The same where the code is aarch64's. */
const char *insn_check_around_aarch64(const struct insn_text *text, uint64_t at, size_t size, uint64_t patched, uint64_t end);

#endif
