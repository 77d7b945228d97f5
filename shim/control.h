/* control: the clients of the control socket and what they say (docs/control.md). Worker only; never blocks it. */
#ifndef GIVEBACK_CONTROL_H
#define GIVEBACK_CONTROL_H

#include "watch.h"

#define CONTROL_CLIENTS 8         /* at once */
#define CONTROL_LINE 4096         /* longest request, with its '\n' */
#define CONTROL_ANSWER (16 << 10) /* longest answer */
#define CONTROL_LISTENER 0        /* what epoll says of the listening socket; a client: its index + 1 */

/* These are the socket's functions of struct watch_kind, whose descriptor is an epoll with the listening socket in it. */
void control_open(struct watch *w, bool first);
void control_look(struct watch *w, int64_t now, short ready);
void control_begin(struct watch *w, struct record *r);
void control_acted(struct watch *w, const struct record *r, bool own);
void control_close(struct watch *w, bool ending);

/* Writes the answer to "status". `last`: the last record as JSON without its '\n', "" for none. */
void control_status(struct text *t, const char *last);

#endif
