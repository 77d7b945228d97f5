/* program: the file that a command starts, and whether the library can be preloaded into it. */
#ifndef GIVEBACK_PROGRAM_H
#define GIVEBACK_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* Looked for in PATH as exec does; of a script its interpreter, and that one's if it is a script too. false: there is none. */
bool program_find(const char *command, char path[PATH_MAX]);
/* What the program has itself loaded by (PT_INTERP). false: nothing. */
bool program_loader(const char *path, char loader[PATH_MAX]);
/* Can the library be preloaded into what the command starts? false after a complaint that says why not. A command that is not found,
 * or cannot be read, is true: exec knows better. */
bool program_preloads(const char *command);

#endif
