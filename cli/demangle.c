/* demangle: see demangle.h. */
#include "demangle.h"

#include <libiberty/demangle.h>
#include <stddef.h>

char *demangle(const char *name, enum demangle_form form)
{
    /* Only these two are asked about: libiberty also takes plain C names for D's, Ada's or those of old compilers. */
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
        return NULL;
    int options = form == NAME_BARE ? DMGL_NO_OPTS : DMGL_PARAMS | DMGL_ANSI | (form == NAME_VERBOSE ? DMGL_VERBOSE : 0);
    char *rust = rust_demangle(name, options);
    return rust || name[1] == 'R' ? rust : cplus_demangle_v3(name, options);
}
