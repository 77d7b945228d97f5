/* glob: shell patterns (*, ?, [a-z], [!a-z], backslash) over a name. Pure, no malloc, bounded time. */
#ifndef GIVEBACK_GLOB_H
#define GIVEBACK_GLOB_H

#include <stdbool.h>

bool glob_match(const char *pattern, const char *name);
/* any pattern of a list separated by ',', ';' or blanks; an empty list matches nothing */
bool glob_match_list(const char *patterns, const char *name);

#endif
