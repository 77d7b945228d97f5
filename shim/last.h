/* last: the last record of the process, for whoever asks, at any moment. */
#ifndef GIVEBACK_LAST_H
#define GIVEBACK_LAST_H

#include <stddef.h>

/* Worker: the record of `pid`, at most RECORD_MAX bytes. */
void last_put(int pid, const char *json, size_t n);
/* Any thread, a handler too; no lock. As snprintf; 0: this process has none. */
int last_copy(char *buffer, size_t size);

#endif
