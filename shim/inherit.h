/* inherit: what the host had when it started and may have given up since: its working folder, and the descriptors that events
 * are read from. */
#ifndef GIVEBACK_INHERIT_H
#define GIVEBACK_INHERIT_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"

/* Once, from the constructor, before anything of the host's runs. */
void inherit_start(const struct event *events, size_t n);
/* Any time: the path with the folder of the start in front when it is relative, and not empty; what stands in front has its %
 * doubled. false: it was cut. */
bool inherit_absolute(const char *path, char *pattern, size_t size);
/* Worker: the numbers of the descriptors that events are read from, in order, each once; how many. */
size_t inherit_numbers(int numbers[EVENT_MAX]);

enum inherit_kind { INHERIT_CLOSED, INHERIT_PIPE, INHERIT_SOCKET, INHERIT_EVENTFD, INHERIT_WRONG };
/* Worker, whose table has a copy of the host's: what the descriptor was at the start. `same`: it still is that. */
enum inherit_kind inherit_check(int number, bool *same);

#endif
