/* parent: is this library in the parent as well, so that it says what both of them know? */
#ifndef GIVEBACK_PARENT_H
#define GIVEBACK_PARENT_H

#include <stdbool.h>

/* For the constructor, while the parent is likely to be still there. false also where that cannot be seen, and under dash, which
 * leaves by _exit and says nothing. No malloc. */
bool parent_speaks(void);

#endif
