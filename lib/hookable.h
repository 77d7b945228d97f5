/* hookable: may a function be hooked, judged by its name, by its entry in a symbol table and by the object it stands in? The
 * library asks before it patches and `giveback symbols` before it promises anything, so that the two cannot disagree.
 *
 * Pure. Every answer is NULL for yes, or why not, as the end of a sentence. */
#ifndef GIVEBACK_HOOKABLE_H
#define GIVEBACK_HOOKABLE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By its name as symbol tables have it. `libc`: the object is that, which defines HOOKABLE_LIBC. */
#define HOOKABLE_LIBC "gnu_get_libc_version"
const char *hookable_name(const char *name, bool libc);
/* A function that is refused by its name is not hooked by another name that it has either: the next name without wildcards of
 * those, from a walk that begins as {0}, into a buffer of HOOKABLE_NAME_MAX bytes, and why; false: there are no more. */
#define HOOKABLE_NAME_MAX 32
struct hookable_walk {
    size_t list;
    const char *rest;
};
bool hookable_refused(struct hookable_walk *w, bool libc, char *name, const char **why);

struct hookable_object {
    bool own;    /* it is this library, */
    bool vdso;   /* what the kernel maps into every process, */
    bool linker; /* ld.so: it defines HOOKABLE_LINKER */
    const ElfW(Phdr) *segments;
    size_t n_segments;
    const ElfW(Dyn) *dynamic; /* NULL: none */
    size_t n_dynamic;
};
#define HOOKABLE_LINKER "_dl_debug_state"
/* Reasons that lie in the object as a whole. */
const char *hookable_object(const struct hookable_object *o);
/* By the kind of its symbol: STT_FUNC or STT_GNU_IFUNC. */
const char *hookable_type(unsigned type);
/* By where it is in the object (an address as the file has it), and how long. */
const char *hookable_place(const struct hookable_object *o, uint64_t value, uint64_t size);
/* The segment whose code holds all of it and can be read; NULL: none does. */
const ElfW(Phdr) *hookable_segment(const struct hookable_object *o, uint64_t value, uint64_t size);
/* By its code, in that segment, of which p_filesz bytes may be read at `bytes`. What is left to the library is where the moved
 * begin is to stand, and whether it can write. *overwritten (NULL: nobody asks) is then what a jump would overwrite of it at most,
 * `from` up to `end`, if that can be entered in its middle. On aarch64 that is more where the moved begin does not stand within
 * HOOKABLE_NEAR, and may be refused for itself: `not_far` says why; elsewhere, and where it may be as far as it likes, NULL. */
#define HOOKABLE_NEAR "128 MiB"
struct hookable_range {
    uint64_t from, end;
    const char *not_far;
};
const char *hookable_code(const ElfW(Phdr) *segment, const void *bytes, uint64_t value, uint64_t size, struct hookable_range *overwritten);
/* Does a function's begin that was moved to `moved` go into the middle of these bytes? */
bool hookable_enters(const void *moved, const struct hookable_range *overwritten);

#endif
