/* connection: the control socket of a process, found by the rules by which it was made, and one question to it. */
#ifndef GIVEBACK_CONNECTION_H
#define GIVEBACK_CONNECTION_H

#include <stdint.h>

#include "process.h"

/* Connected, and the process itself answers there: a descriptor. Else a negative errno value: -ENOENT nothing was found. `named`: the
 * path that the user gave, NULL for none. */
int connection_open(const struct process *p, const char *named);
/* Sends the line (with its '\n') and waits for one: to be freed, without its '\n'; NULL and an errno value in *error: ETIMEDOUT, EPROTO
 * for more than an answer can be, ECONNRESET for an end without one. */
char *connection_ask(int fd, const char *line, int64_t timeout_ms, int *error);

#endif
