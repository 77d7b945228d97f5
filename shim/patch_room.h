/* patch_room: where trampolines are, and how code is written; what the machines' patch_function has in common.
 *
 * For the constructor, and for the thread that is opening a library, under ld.so's lock. No malloc. */
#ifndef GIVEBACK_PATCH_ROOM_H
#define GIVEBACK_PATCH_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATCH_SLOT = 128 /* one trampoline */ };

/* What a trampoline must be near to. */
struct patch_place {
    uintptr_t low, high; /* an object, outside of which there may be room */
    uintptr_t from, to;  /* the part of it that is to be reached */
    int64_t reach;
};

/* /proc/self/mem for writing, or -errno. */
int patch_room_open(void);
/* Into code or a trampoline, whole and read back. */
bool patch_room_write(int fd, uintptr_t at, const void *bytes, size_t n);
/* Is that one near enough? */
bool patch_room_is_near(uintptr_t slot, const struct patch_place *p);
/* PATCH_SLOT bytes that may be run and not be written; 0: there is no room. */
uintptr_t patch_room_take(const struct patch_place *p);

#endif
