/* stackneed: how many bytes of arguments a function finds on the stack, as its debug info (DWARF, read with libdw) places its
 * parameters. Compilers that place them relative to a frame that the function only builds later (clang without a frame pointer)
 * leave this open, and so does a file without debug info: then nothing is said. */
#ifndef GIVEBACK_STACKNEED_H
#define GIVEBACK_STACKNEED_H

#include <libelf.h>
#include <stdint.h>

/* Each function with code of its own that needs more than `least` bytes: its address in the object, and how many. */
typedef void (*stackneed_visit)(void *context, uint64_t address, uint64_t bytes);
void stackneed_read(Elf *elf, uint64_t least, stackneed_visit visit, void *context);

#endif
