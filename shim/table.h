/* table: a descriptor table of the worker's own. */
#ifndef GIVEBACK_TABLE_H
#define GIVEBACK_TABLE_H

#include <stddef.h>

/* Worker, at its start: this thread's table is no longer the host's, and holds the n kept numbers, in order, and no others. */
void table_leave(const int *kept, size_t n);

#endif
