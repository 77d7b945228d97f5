/* real: the functions that ours stand in front of, and those of the thread library, which cannot be linked. */
#ifndef GIVEBACK_REAL_H
#define GIVEBACK_REAL_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* What ld.so tells a debugger; NULL when the program has no dynamic section. */
const struct r_debug *real_debug(void);
/* ld.so's list of loaded objects, in the order of the global scope for those of program start. NULL when the program
 * has no dynamic section. No lock: only the objects of program start, which come first, are never unloaded. */
struct link_map *real_objects(void);
/* Our own entry in that list; NULL: not found. */
struct link_map *real_own(void);
/* Do our functions stand in front of libc's? Not when we were loaded by dlopen. */
bool real_in_front(void);
/* The next definition of `name` behind our own object, as RTLD_NEXT would find it, or else one before it; NULL: none. Any thread, also before
 * our constructor; no lock, no malloc, errno untouched. Not in a handler (it may run into an object being unloaded). */
void *real_find(const char *name);

/* A wrapper's first line: a pointer to the original, looked up once (a race looks it up twice, with the same result). */
#define REAL(name) \
    ({ \
        static __typeof__(&name) original; \
        __typeof__(&name) found = __atomic_load_n(&original, __ATOMIC_RELAXED); \
        if (!found) { \
            found = (__typeof__(&name))(uintptr_t)real_find(#name); \
            __atomic_store_n(&original, found, __ATOMIC_RELAXED); \
        } \
        found; \
    })

#endif
