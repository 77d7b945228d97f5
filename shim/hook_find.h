/* hook_find: the functions of one object whose names match a pattern, in .dynsym and in the .symtab of its file, or of its
 * debug file (/usr/lib/debug/.build-id) when that of its own was stripped.
 *
 * For the constructor and for the thread that is opening a library, under ld.so's lock. No malloc: the file's tables are
 * read into a mapping that is gone afterwards. */
#ifndef GIVEBACK_HOOK_FIND_H
#define GIVEBACK_HOOK_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object.h"

struct hook_found {
    const char *name;
    uintptr_t at;
    size_t size;
    unsigned type; /* STT_FUNC, STT_GNU_IFUNC, STT_OBJECT */
};
typedef void (*hook_visit)(void *context, const struct hook_found *f);

/* Has it wildcards, so that it may mean several? */
bool hook_is_pattern(const char *symbol);
/* Every match is visited, an address perhaps more than once. The file is read when the pattern has wildcards or nothing in
 * memory has the name. */
void hook_find(const struct object *o, const char *pattern, hook_visit visit, void *context);

#endif
