/* procfs: what the kernel says of a process's memory, parsed out of text that somebody else has read.
 *
 * Pure functions over buffers: the buffer need not be terminated, no malloc, no stdio, async-signal-safe.
 * All figures are bytes; PROCFS_UNKNOWN where the text does not say (never 0 for unknown). */
#ifndef GIVEBACK_PROCFS_H
#define GIVEBACK_PROCFS_H

#include <stddef.h>
#include <stdint.h>

#define PROCFS_UNKNOWN INT64_C(-1)

struct procfs_memory {
    int64_t anon;      /* RssAnon (status; since Linux 4.5) */
    int64_t file;      /* RssFile */
    int64_t shmem;     /* RssShmem */
    int64_t swap;      /* VmSwap */
    int64_t locked;    /* VmLck */
    int64_t lazyfree;  /* LazyFree (smaps_rollup): MADV_FREE pages that are still counted in RssAnon */
    int64_t hugepages; /* AnonHugePages (smaps_rollup) */
    int64_t pss_anon;  /* Pss_Anon (smaps_rollup; since Linux 5.9) */
    int64_t threads;   /* a number, not bytes: Threads (status) */
};

void procfs_memory_unknown(struct procfs_memory *m);
/* Fill in what this text holds and leave the other figures as they are.
 * 0, or -EINVAL when the text is not of that kind, or -ENODATA when it has no RssAnon (kernel thread, zombie, old kernel). */
int procfs_status(const char *text, size_t n, struct procfs_memory *m);
int procfs_smaps_rollup(const char *text, size_t n, struct procfs_memory *m);
/* /proc/PID/statm is in pages: anon gets resident - shared (which is RssAnon exactly), file stays unknown. */
int procfs_statm(const char *text, size_t n, int64_t page_size, struct procfs_memory *m);
/* /proc/PID/stat, robust against ')' and blanks in the name: minor faults of the process, field 10. */
int procfs_stat_minflt(const char *text, size_t n, int64_t *minflt);

/* By how many bytes RssAnon read from status may be off on this kernel (`release` as uname has it), with that many
 * CPUs and threads: see procfs.c for the history. 0 where it is exact, PROCFS_UNKNOWN for a text that is no version. */
int64_t procfs_uncertain(const char *release, int cpus, int64_t threads, int64_t page_size);

#endif
