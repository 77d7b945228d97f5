/* hosts: the processes that have the library, found by what they have mapped: a program may overwrite its environment and its name. */
#ifndef GIVEBACK_HOSTS_H
#define GIVEBACK_HOSTS_H

#include <stddef.h>

#include "process.h"

/* The process is freed afterwards. */
typedef void (*hosts_visit)(void *context, const struct process *p);
/* By ascending process id, without the tool itself. How many processes could not be looked into, or -1 after a complaint. */
long hosts_each(hosts_visit visit, void *context);
/* Is it called so? By itself, by how it was started, or by its executable. */
bool hosts_called(const struct process *p, const char *name);

#endif
