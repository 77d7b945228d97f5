/* hook_refuse: functions of an object that no name may hook: those that have a refused name beside others, and those that this
 * library calls itself, which would come back to it.
 *
 * For the constructor and for the thread that is opening a library, under ld.so's lock. No malloc. */
#ifndef GIVEBACK_HOOK_REFUSE_H
#define GIVEBACK_HOOK_REFUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object.h"

enum { HOOK_REFUSED = 192 };

struct hook_refused {
    struct { uintptr_t at; const char *why; } function[HOOK_REFUSED];
    size_t n;
    bool libc; /* the object is that */
};

void hook_refused_read(struct hook_refused *r, const struct object *o);
/* NULL, or why the function there is not to be hooked, as the end of a sentence. */
const char *hook_refused_at(const struct hook_refused *r, uintptr_t at);

#endif
