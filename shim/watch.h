/* watch: what the worker looks at by itself: the polled kinds of events, each in a file of its own (event_*).
 *
 * All of it is the worker's: nothing here is called from, or reaches, a thread of the host's. */
#ifndef GIVEBACK_WATCH_H
#define GIVEBACK_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "pace.h"

struct post;
struct record;
struct watch;

#define WATCH_NEVER INT64_MAX

/* What a kind does; times are CLOCK_MONOTONIC, nanoseconds. Each may be NULL but look. */
struct watch_kind {
    /* A worker begins, its descriptor table is its own: sets fd and due. In the first worker of a process the watch's state
     * is zero (`first`), in a later one what it was. */
    void (*open)(struct watch *w, int64_t now, bool first);
    /* The descriptor is ready (poll's revents; 0: it is not), or `due` has passed. Sets the next `due`. */
    void (*look)(struct watch *w, int64_t now, short ready);
    /* After each release or mark, whoever asked for it; `own`: this event did. */
    void (*acted)(struct watch *w, const struct record *r, bool own);
    /* The worker ends, or begins anew in the same table: closes what `open` has opened. */
    void (*close)(struct watch *w);
};
extern const struct watch_kind event_every, event_idle, event_pressure, event_rss, event_settle;

struct watch {
    const struct watch_kind *kind;
    const struct event *event;
    unsigned number; /* of the event, as post counts them */
    int fd;          /* polled; -1: none */
    short events;    /* what for: POLLIN unless the kind says so */
    int64_t due;     /* WATCH_NEVER: only the descriptor */
    union {          /* the kind's own */
        bool fired;
        struct pace_settle settle;
        struct {
            int fd;         /* also while it is not polled */
            int64_t opened;
            bool psi;       /* the kernel's own file */
            bool fifo;
            unsigned tries; /* to open it again */
        } pressure;
    };
};

/* Constructor, if there is an event of that kind: keeps what the environment says of it. false: that it is not wanted. */
bool event_pressure_start(char *const *environment);

/* A worker begins, its table is its own; it ends. */
void watch_open(struct post *p, const struct event *events, size_t n, bool first);
void watch_close(struct post *p);
/* Is there anything to look at? Then the worker stays. */
bool watch_any(void);
/* Wait until something has come, was looked at, or `limit` has passed. */
void watch_wait(struct post *p, int64_t limit);
/* An event of this kind has come. */
void watch_fire(struct watch *w);
void watch_acted(const struct record *r, unsigned number);

#endif
