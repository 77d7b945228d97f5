/* preset: the files of `giveback run --preset NAME`: lines NAME=VALUE of variables of the library, and comments. */
#ifndef GIVEBACK_PRESET_H
#define GIVEBACK_PRESET_H

#include "options.h"

/* One line of it, in their order; `value` goes with the call. EXIT_DONE, or what preset_read is to return. */
typedef int (*preset_visit)(void *context, enum option_id id, const char *value);
/* `name` is that of a file in presets beside this program or in ../share/giveback/presets, or, with a '/', its path. EXIT_DONE, or
 * EXIT_USAGE after a complaint, or what `visit` returned. */
int preset_read(const char *name, preset_visit visit, void *context);

#endif
