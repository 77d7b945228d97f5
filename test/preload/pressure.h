/* What the drivers about memory pressure share: hosts with systemd's two variables. */
#ifndef TEST_PRESSURE_H
#define TEST_PRESSURE_H

#include "harness.h"

extern char pressure_place[400];      /* what MEMORY_PRESSURE_WATCH names in this test; removed at its end */
extern const char *pressure_log;      /* where the host's log goes: a path, stderr; NULL: as always */

/* A name for it, at which nothing stands. */
const char *pressure_make_place(const char *name);
/* A log that a host of any user may write to. */
void pressure_open_log(void);
/* Start it, and wait until it is ready; watch, write: the variables, NULL: not set. */
void pressure_start(struct host *h, const char *const *argv, const char *on, const char *watch, const char *write, void (*before)(void));
/* It ends with that status, and has said nothing on stderr. */
void pressure_end(struct host *h, int status);
/* For before_exec. */
void pressure_become_nobody(void);

#endif
