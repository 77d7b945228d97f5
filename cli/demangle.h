/* demangle: what a C++ or Rust name means, from libiberty, which binutils and gdb use as well. */
#ifndef GIVEBACK_DEMANGLE_H
#define GIVEBACK_DEMANGLE_H

#include <stdbool.h>

/* With parameters where the name has them, or without. NULL: it is no such name. To be freed. */
char *demangle(const char *name, bool parameters);

#endif
