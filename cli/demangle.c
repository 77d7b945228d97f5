/* demangle: see demangle.h. */
#include "demangle.h"

#include <libiberty/demangle.h>
#include <stddef.h>

char *demangle(const char *name, bool parameters)
{
    /* Only these two are asked about: libiberty also takes plain C names for D's, Ada's or those of old compilers. */
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
        return NULL;
    char *rust = rust_demangle(name, DMGL_NO_OPTS);
    return rust || name[1] == 'R' ? rust : cplus_demangle_v3(name, parameters ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS);
}
