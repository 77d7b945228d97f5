/* release: ask every allocator in the process to give back what it holds, and account for it. */
#ifndef GIVEBACK_RELEASE_H
#define GIVEBACK_RELEASE_H

#include "record.h"

struct alloc_copy;

/* Once, from the constructor: reads nothing, only keeps the settings' GIVEBACK_CALL list and detail flag. */
struct settings;
void release_configure(const struct settings *s);
/* Worker only (small stack, every signal blocked, own descriptor table; takes the gate itself, step by step). Fills in
 * before, after, unreadable, ns, stall_ns, came_back, faults, uncertain, reason and the allocators of *r; the
 * caller has set the rest. Never fails: what could not be done stands in the record. r->reason points into storage of
 * this module that lives until the next call. `flush` is called before each allocator is asked, outside the gate. */
void release_run(struct record *r, void (*flush)(struct alloc_copy *c));
/* Worker only: the allocators of *r with what each has now in held_after and live, as far as it tells that without stopping anybody. */
void release_survey(struct record *r);
/* Worker only: reads memory and releases nothing. */
void release_mark(struct record *r);

#endif
