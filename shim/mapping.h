/* mapping: mmap: and munmap: events. What the host and its allocators map and unmap is counted behind libc's own functions. */
#ifndef GIVEBACK_MAPPING_H
#define GIVEBACK_MAPPING_H

#include <stddef.h>

#include "event.h"

/* Once, from the constructor. Without such an event nothing is replaced. The events must live as long as the process. */
void mapping_start(const struct event *events, size_t n);

#endif
