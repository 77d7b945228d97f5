/* sink: where lines go: the host's stderr, a file, or nowhere.
 *
 * A line is one write, never blocks, never raises SIGPIPE in the host, and is counted as lost when it cannot be written.
 * Async-signal-safe: only raw system calls. */
#ifndef GIVEBACK_SINK_H
#define GIVEBACK_SINK_H

#include <stdbool.h>
#include <stddef.h>

struct settings;

/* Once, from the constructor: keeps the target and which file the host's stderr is now. */
void sink_start(const struct settings *s, const char *program);
#define SINK_PATH_MAX 1536 /* folder at start and value; small, since a notice may be written on a small stack */
/* 0, or -errno: the line is lost. `own_table`: the caller is the worker, whose descriptor table is not the host's. */
int sink_write(const char *line, size_t n, bool own_table);
/* Worker: to the host's stderr, whatever the log is. */
int sink_write_stderr(const char *line, size_t n);
/* The path that lines go to, with % items and all; NULL: no path. */
const char *sink_path(void);
/* From a handler in a host that a filter of system calls kills for the wrong one: only fstat, poll and write, so to stderr
 * or not at all. */
void sink_write_restricted(const char *line, size_t n);

#endif
