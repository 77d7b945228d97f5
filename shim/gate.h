/* gate: the worker passes it before it goes into an allocator or into ld.so, and the host waits at it, for a bounded
 * time, before it forks or exits.
 *
 * Why: a child made by fork has only the forking thread; a lock that the worker held at that moment (an arena, ld.so's
 * object list) would stay held in the child for ever. At exit, allocators' own destructors may free what the worker uses. */
#ifndef GIVEBACK_GATE_H
#define GIVEBACK_GATE_H

#include <stdbool.h>

/* Worker only. Waits while the host forks. false: the process is ending or the worker is to leave; do not go in. */
bool gate_enter(void);
/* Worker only, after gate_enter returned true. Call it between steps, as often as a step ends. */
void gate_leave(void);
/* Host thread (atfork, atexit, unshare): shut the gate and wait until the worker is out, at most `ms` milliseconds.
 * Returns whether it is out. Nests. */
bool gate_shut(int ms);
void gate_open(void);

#endif
