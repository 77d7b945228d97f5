/* metrics_write: GIVEBACK_METRICS: what this process has done, in a file that is replaced as a whole. */
#ifndef GIVEBACK_METRICS_WRITE_H
#define GIVEBACK_METRICS_WRITE_H

#include <stdbool.h>

#include "metrics.h"

struct settings;

/* Once, from the constructor. The program's name must live as long as the process. */
void metrics_write_start(const struct settings *s, const char *program);
/* Worker: one begins, the first of its process or not. */
void metrics_write_open(bool first);
/* Worker: an action was carried out (metrics_count has the rest). */
void metrics_write_acted(const struct record *r, unsigned kind, bool unlogged, bool lost);

#endif
