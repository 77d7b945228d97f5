/* entry: functions of ours that run in place of libc's own entry points, so that what libc itself calls is seen too: printf goes
 * to the same `write` as everybody, `free` to the same `munmap`. */
#ifndef GIVEBACK_ENTRY_H
#define GIVEBACK_ENTRY_H

#include <stddef.h>

struct entry {
    const char *name;
    const void *instead;
    const void **original; /* by which `instead` calls what it stands for */
};

/* Once for each table, from the constructor, before the host has a second thread: a thread that is just running the first bytes
 * of one of these would meet half a jump. A glibc that keeps threads in a library of their own has two of some; both lead to
 * `instead`, which calls libc's. What libc does not have is passed over; that some cannot be replaced is said in one line, which
 * begins with `events`. */
void entry_replace(const struct entry *entries, size_t n, const char *events);

#endif
