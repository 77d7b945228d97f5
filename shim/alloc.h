/* alloc: the allocators in this process: found by symbol, wherever they live, and asked to give back what they hold.
 *
 * A kind (one file each: alloc_glibc.c, ...) is a small table of functions; a copy is one place in this process where such
 * an allocator's code lies. Everything is for the worker. A kind's functions go into the allocator, so the caller has
 * passed the gate; they call no malloc of their own. */
#ifndef GIVEBACK_ALLOC_H
#define GIVEBACK_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "object.h"
#include "procfs.h"

enum { ALLOC_FUNCTIONS = 6, ALLOC_COPIES = 24, ALLOC_SYMBOL_MAX = 64 };

/* ALLOC_LATER: more to do after a moment, in which no lock is held. */
enum { ALLOC_DONE, ALLOC_MORE, ALLOC_LATER };

/* Bytes; PROCFS_UNKNOWN where the allocator does not tell. */
struct alloc_figures {
    int64_t held;  /* freed by the program and kept by the allocator: an upper bound of what is resident of it */
    int64_t live;  /* in use */
    int64_t owned; /* the part of `held` that lies in caches which only their own threads can empty */
};

struct alloc_copy {
    const struct alloc_kind *kind;
    uint64_t identity; /* of its object */
    uintptr_t bias;
    char object[OBJECT_NAME_MAX];
    char path[OBJECT_PATH_MAX];
    char symbol[ALLOC_SYMBOL_MAX]; /* what is called */
    uintptr_t at[ALLOC_FUNCTIONS]; /* the kind's symbols in their order; 0: this copy lacks it */
    bool safe;                     /* its object cannot be unloaded (any more) */
    unsigned pieces;               /* these two: of the release that is running, for the kind's own use */
    uint64_t left;
};

struct alloc_kind {
    const char *name;
    /* [0] is the anchor: where a symbol ends in it, there is a copy. The others are those of the same prefix there. */
    const char *symbols[ALLOC_FUNCTIONS];
    unsigned siblings; /* how many of the others must be there: keeps a stranger whose name ends alike out */
    unsigned adopts;   /* index of a symbol that counts whatever its prefix is if the object has only one; 0: none */
    /* A copy that only contains the code must cost nothing. `touched` reads memory only: it runs during a visit, under
     * ld.so's lock. `used` may call what leaves no state behind in this thread. NULL: yes. */
    bool (*touched)(const struct alloc_copy *c, const struct object *o);
    bool (*used)(const struct alloc_copy *c);
    void (*version)(const struct alloc_copy *c, char *text, size_t size); /* "" when it does not tell */
    void (*figures)(const struct alloc_copy *c, struct alloc_figures *f); /* NULL: tells nothing */
    bool dear;       /* `figures` stops every thread that allocates: only asked when there is something to explain */
    bool owner_only; /* most of what it holds can only be emptied by the threads that freed it */
    /* The calling thread, one of the host's, empties its own caches; outside the gate, since the worker waits for it. NULL:
     * there is no way. */
    void (*flush)(const struct alloc_copy *c);
    /* One piece of the release, n counts from 0: ALLOC_DONE, ALLOC_MORE, ALLOC_LATER, or -errno. */
    int (*step)(struct alloc_copy *c, unsigned n);
};

extern const struct alloc_kind alloc_google, alloc_gperftools, alloc_jemalloc, alloc_mimalloc, alloc_tbb, alloc_glibc;

/* Bring the list of copies up to date. false: the gate said no; what was found so far stands. */
bool alloc_scan(void);
/* Forget all of it (a forked child may have inherited a table that was being written). */
void alloc_reset(void);
/* The i-th copy in the order in which they are asked; NULL behind the last. */
struct alloc_copy *alloc_at(size_t i);
/* Is it in use, and can its object no longer be unloaded? Passes the gate itself. */
bool alloc_ready(struct alloc_copy *c);
/* Does the global malloc belong to this copy? */
bool alloc_serves_malloc(const struct alloc_copy *c);
/* The base name of the object behind the global malloc when no known allocator lies there; NULL: one does. */
const char *alloc_stranger(void);

/* The functions of GIVEBACK_CALL (alloc_call.c) are copies of a kind of their own, one for each function found. */
extern const struct alloc_kind alloc_call;
/* Constructor. The list was checked by options; it must live as long as the process. */
void alloc_call_configure(const char *list);
/* Which functions to look for in an object of that name: into the array; how many. One that was found before is not
 * looked for again, unless its item names its object; `named`: an item names this one. */
size_t alloc_call_wanted(const char *object, const char *names[ALLOC_FUNCTIONS], bool *named);
/* The i-th item of which no function was found, NULL behind the last. */
const char *alloc_call_missing(size_t i);
/* Is there a copy for a function of that name? */
bool alloc_has_call(const char *symbol);

#endif
