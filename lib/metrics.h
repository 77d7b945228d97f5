/* metrics: what the records of one process add up to, and its text for a collector (OpenMetrics 1.0). Pure.
 *
 * Every sample carries the program's name, and the process id where several processes write files of their own, so that a
 * collector which reads a folder of such files never sees one series twice. */
#ifndef GIVEBACK_METRICS_H
#define GIVEBACK_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "record.h"

#define METRICS_MAX (32 << 10) /* bytes that every text fits in */

/* What asked: an enum event_kind, or one of these. */
enum { METRICS_SIGNAL = EVENT_KINDS, METRICS_CALL, METRICS_KINDS };

struct metrics_allocator {
    char name[24], version[24], object[64];
    int64_t held, live; /* after the last release; PROCFS_UNKNOWN */
};

struct metrics {
    uint64_t releases[METRICS_KINDS], marks[METRICS_KINDS];
    uint64_t returned, grown, came_back, faults, merged, unlogged, lost;
    int64_t ns;
    int64_t time_ms;       /* of the last action; 0: there was none */
    int64_t before, after; /* RssAnon; PROCFS_UNKNOWN */
    unsigned factor;       /* the back-off */
    unsigned n_allocators;
    struct metrics_allocator allocator[RECORD_ALLOCATORS];
};

void metrics_start(struct metrics *m);
/* `unlogged`: it was not worth a line; `lost`: it was, and could not be written. */
void metrics_count(struct metrics *m, const struct record *r, unsigned kind, bool unlogged, bool lost);
/* The whole text; its length, or 0 when the buffer is too small. pid 0: no label for it. Any thread, async-signal-safe. */
size_t metrics_text(const struct metrics *m, const char *program, int pid, char *buffer, size_t size);

#endif
