/* hook_python: enter: and exit: events on Python functions, in CPython 3.8 and newer.
 *
 * No headers of Python and no file on its path: what is needed of its C interface is found by name, and the part that is
 * better said in Python (hook_python.py) is compiled into the library as text. */
#ifndef GIVEBACK_HOOK_PYTHON_H
#define GIVEBACK_HOOK_PYTHON_H

#include <stddef.h>

#include "event.h"

/* Once, from the constructor: if the process has a Python and an event names a function of it. The events must live as
 * long as the process. */
void hook_python_start(const struct event *events, size_t n);

#endif
