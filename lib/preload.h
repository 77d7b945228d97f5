/* preload: editing the value of LD_PRELOAD, and expanding the path of a log. Pure. */
#ifndef GIVEBACK_PRELOAD_H
#define GIVEBACK_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/* Is this entry of LD_PRELOAD the library whose path is `own`? The same path, or an entry that ld.so resolves to
 * the same base name (a plain name, $LIB, $ORIGIN, ...). */
bool preload_entry_is(const char *entry, size_t n, const char *own);
/* Take every entry that is `own` out of `value` in place (ld.so separates by ':' and blanks); all else stays as it
 * stands. How many were taken out. */
unsigned preload_drop(char *value, const char *own);
/* %p, %n, %% in `pattern`; a '/' in the program's name becomes '_'. 0, or -ENAMETOOLONG / -EINVAL (unknown % item). */
int preload_expand(const char *pattern, int pid, const char *program, char *out, size_t size);

#endif
