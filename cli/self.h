/* self: where this program's file stands. */
#ifndef GIVEBACK_SELF_H
#define GIVEBACK_SELF_H

#include <limits.h>
#include <stdbool.h>

/* Its folder, with '/' at the end. false, and errno is set. */
bool self_folder(char folder[PATH_MAX]);

#endif
