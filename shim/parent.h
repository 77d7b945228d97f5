/* parent: is this library in the parent as well? */
#ifndef GIVEBACK_PARENT_H
#define GIVEBACK_PARENT_H

#include <stdbool.h>

/* For the constructor, while the parent is likely to be still there. false also where that cannot be seen. No malloc. */
bool parent_has_library(void);

#endif
