/* reason: why a release returned nothing, from evidence (DESIGN "Text record"). Pure. */
#ifndef GIVEBACK_REASON_H
#define GIVEBACK_REASON_H

#include "record.h"

/* Less than this is "nothing came back": 1 MiB, the same bound under which automatic records are not logged. */
#define REASON_NOTHING (INT64_C(1) << 20)

/* A sentence in `buffer`, or NULL when enough came back or the evidence says nothing. Uses r->before, r->after (with the
 * smaps_rollup figures where they were read), r->allocator[]; `owner_only`: an allocator was found whose threads' own
 * caches only those threads can empty; `unreachable`: the object behind malloc is none that we know (its base name). */
const char *reason_find(const struct record *r, int owner_only, const char *unreachable, char *buffer, unsigned long size);

#endif
