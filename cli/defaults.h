/* defaults: the events of `giveback run` that need not be named. */
#ifndef GIVEBACK_DEFAULTS_H
#define GIVEBACK_DEFAULTS_H

#define DEFAULT_EVENTS "socket; settle; pressure"

/* `events` (a value of GIVEBACK_ON; NULL: none) with those behind it that it does not name, that this machine can watch, and that have
 * room in it. To be freed; NULL: out of memory. */
char *defaults_add(const char *events);

#endif
