/* sample: what the process has and does, read by the worker at little cost and without opening anything again. */
#ifndef GIVEBACK_SAMPLE_H
#define GIVEBACK_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct sample {
    int64_t anon;  /* RssAnon, bytes; PROCFS_UNKNOWN */
    int64_t quiet; /* for so many nanoseconds the host's threads have used next to no CPU time */
};

/* Worker: at its start, and at its end. */
void sample_open(int64_t now, bool first); /* first: the first worker of the process */
void sample_close(void);
/* RssAnon as the parent's worker saw it last, in a forked child, whose memory that is from its first moment; else
 * PROCFS_UNKNOWN. A child may have grown already when its own worker begins. */
int64_t sample_inherited(void);
/* The sample of this moment; one reading serves all who ask with the same `now` (CLOCK_MONOTONIC, nanoseconds). */
const struct sample *sample_at(int64_t now);
/* When to look again: sooner while the process works. On whole periods, so that all who sample wake up together. */
int64_t sample_next(int64_t now);

#endif
