/* patch: a function's first bytes become a jump to a trampoline near it. One file a machine.
 *
 * Code and trampolines are written through /proc/self/mem, which opens no page for writing: protections stay as they are,
 * and there is no moment at which a page may be both written and run. All of this is for the constructor, and for the
 * thread that is opening a library, under ld.so's lock, before anything can run in it. No malloc. */
#ifndef GIVEBACK_PATCH_H
#define GIVEBACK_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook_call.h"

/* The descriptor that code is written through, or -errno. Closed by whoever opened it, before the host goes on. */
int patch_open(void);

/* With that descriptor, or what it was not: hook the function of `size` bytes at h->at, of which nothing lies outside the object at `low` to `high`. Sets
 * h->original and h->slot (kept when it is set already and near enough). NULL, or why not, as the end of a sentence. */
const char *patch_function(int fd, struct hook *h, size_t size, uintptr_t low, uintptr_t high);

/* Have `loaded` called instead of the empty function at `at`, by which ld.so tells a debugger that a list has changed.
 * false: it does not look as it does in any known ld.so, or cannot be written. */
bool patch_empty(int fd, uintptr_t at, void (*loaded)(void));

#endif
