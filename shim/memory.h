/* memory: thin readers of /proc/self for the worker. Each opens, reads into a buffer on the stack, and closes. */
#ifndef GIVEBACK_MEMORY_H
#define GIVEBACK_MEMORY_H

#include "procfs.h"

/* 0 or -errno (what open, read or the parser said); figures that could not be read are PROCFS_UNKNOWN. */
int memory_read(struct procfs_memory *m);
/* RssAnon only, for the credit of one allocator: PROCFS_UNKNOWN when unreadable. */
int64_t memory_anon(void);
/* Adds the figures of smaps_rollup (holds the host's mmap lock while it is read: DESIGN, Accounting). */
int memory_read_detail(struct procfs_memory *m);
/* Minor faults of the process so far, PROCFS_UNKNOWN when unreadable. */
int64_t memory_faults(void);

#endif
