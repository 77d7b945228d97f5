/* code: whose code is it that a thread was interrupted in? For the handler's proof. */
#ifndef GIVEBACK_CODE_H
#define GIVEBACK_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Once, from the constructor: where libc (and, in an old glibc, libpthread) lies. */
void code_start(void);
/* Handler: is it in libc's (or libpthread's) code? */
bool code_in_libc(uintptr_t pc);
/* Handler: is it in pthread_cond_wait itself? In glibc before 2.34 that waits as a lock does. */
bool code_in_cond_wait(uintptr_t pc);
/* Handler: is it in an object that is neither libc nor ld.so, nor the allocator behind malloc, nor anything that this
 * allocator depends on (and so may be calling with its locks held)? No lock, no malloc. */
bool code_is_plain(uintptr_t pc);

#endif
