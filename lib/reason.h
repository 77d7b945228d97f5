/* reason: why a release returned nothing, from evidence (DESIGN "Text record"). Pure. */
#ifndef GIVEBACK_REASON_H
#define GIVEBACK_REASON_H

#include <stddef.h>

#include "record.h"

/* Less than this is "nothing came back": 1 MiB, the same bound under which automatic records are not logged. */
#define REASON_NOTHING (INT64_C(1) << 20)

/* A sentence in `buffer` (160 bytes hold each), or NULL when enough came back or the evidence says nothing. Uses
 * r->before, r->after (with the smaps_rollup figures where they were read), r->allocator[]; `owner_only`: what an
 * allocator still holds may lie in threads' own caches, which only those threads can empty; `unreachable`: the object
 * behind malloc is none that we know (its base name). Any thread, async-signal-safe. */
const char *reason_find(const struct record *r, int owner_only, const char *unreachable, char *buffer, size_t size);

#endif
