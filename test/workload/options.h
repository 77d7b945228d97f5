/* options: numbers on the command lines of the three programs, with one clear line for a bad one. */
#ifndef WORKLOAD_OPTIONS_H
#define WORKLOAD_OPTIONS_H

#include <stdint.h>

/* The value of `--name`, which must lie in low..high; otherwise one line on stderr and the program ends with 2. */
uint64_t options_number(const char *name, const char *text, uint64_t low, uint64_t high);

#endif
