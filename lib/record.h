/* record: what one action did, and its two ways of being written down (DESIGN "Text record", "JSON record").
 *
 * Pure: no malloc, no stdio; both writers end the line with '\n'. A record is at most RECORD_MAX bytes, since a pipe
 * takes up to PIPE_BUF (4096) bytes in one piece; what does not fit is left out at the level of whole allocators. */
#ifndef GIVEBACK_RECORD_H
#define GIVEBACK_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "procfs.h"

#define RECORD_MAX 4096
#define RECORD_ALLOCATORS 8

enum record_action { RECORD_RELEASE, RECORD_MARK, RECORD_ACTIONS };

struct record_allocator {
    char name[24];      /* tcmalloc, jemalloc, mimalloc, TBB, glibc, google-tcmalloc, or the function of GIVEBACK_CALL */
    char version[24];   /* "2.10", empty: unknown */
    char object[64];    /* base name of the object it lives in */
    char call[128];     /* object:symbol that was called */
    int64_t returned;   /* RssAnon before this call minus after it, bytes, may be negative; PROCFS_UNKNOWN + `returned_known` 0 */
    int returned_known;
    int64_t held_before, held_after, live; /* bytes, PROCFS_UNKNOWN where the allocator does not tell */
    int error;          /* 0, or an errno value: the call failed */
};

struct record {
    int64_t time_ms;    /* CLOCK_REALTIME at the start of the action, milliseconds */
    int pid;
    const char *program;
    const char *event;  /* as configured: "signal:USR1" */
    const char *label;  /* the user's name for it, NULL: none */
    enum record_action action;
    struct procfs_memory before, after;
    int unreadable;     /* errno of reading RssAnon, 0 when it was read */
    int64_t ns;         /* duration of the action */
    int64_t stall_ns;   /* longest call into one allocator, an upper bound of one lock's hold; PROCFS_UNKNOWN */
    unsigned merged;    /* further events folded into this one */
    unsigned lost;      /* earlier records that could not be written */
    int64_t came_back;  /* bytes of what the last release returned that are resident again; PROCFS_UNKNOWN: no release before */
    int64_t faults;     /* minor faults since the last release; PROCFS_UNKNOWN */
    int64_t uncertain;  /* bytes, PROCFS_UNKNOWN */
    const char *reason; /* why nothing came back, NULL: it did */
    unsigned n_allocators;
    struct record_allocator allocator[RECORD_ALLOCATORS];
};

/* Both return the length written (without the NUL). Any thread, async-signal-safe. The text is cut to size - 1 bytes
 * and still ends its line; strings from outside are made printable. JSON needs a buffer of RECORD_MAX bytes, and writes
 * nothing (0) in a smaller one. A mark has only one reading, in `before`. */
size_t record_text(const struct record *r, char *buffer, size_t size);
size_t record_json(const struct record *r, char *buffer, size_t size);

#endif
