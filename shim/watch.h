/* watch: what the worker looks at by itself: the polled kinds of events, each in a file of its own (event_*).
 *
 * All of it is the worker's: nothing here is called from, or reaches, a thread of the host's. */
#ifndef GIVEBACK_WATCH_H
#define GIVEBACK_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "folder.h"
#include "line.h"
#include "pace.h"
#include "record.h"

struct post;
struct settings;
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
    /* Its event is about to be carried out: may set the record's label, action and merged. */
    void (*begin)(struct watch *w, struct record *r);
    /* The worker ends; `ending`: with the process, so that what it made in the file system goes too. Its table goes with it. */
    void (*close)(struct watch *w, bool ending);
};
extern const struct watch_kind event_every, event_fd, event_fifo, event_idle, event_pressure, event_rss, event_settle, event_socket;

/* What the process is, for all of it; the pointers live as long as the process. */
struct watch_host {
    struct post *post;
    bool forked; /* not the process that started with us */
    const char *program;
    const char *signal; /* signal:USR1 */
    const struct settings *settings;
    const struct event *events;
    size_t n_events;
};

/* Lines are read: the begin of one, and the label of the last whole one that was not carried out yet. */
struct watch_lines {
    struct line line;
    char label[EVENT_LABEL_MAX];
    bool lost; /* nothing more will come; it was said */
};

/* Commands that were read and not carried out yet: how many for each action, and the label of the last that had one. */
struct watch_commands {
    unsigned wanted[RECORD_ACTIONS];
    char label[RECORD_ACTIONS][EVENT_LABEL_MAX];
};

struct watch {
    const struct watch_kind *kind;
    const struct event *event;
    unsigned number; /* of the event, as post counts them */
    int fd;          /* polled; -1: none */
    short events;    /* what for: POLLIN unless the kind says so */
    int64_t due;     /* WATCH_NEVER: only the descriptor */
    struct folder_file file; /* what it has made */
    union {                  /* the kind's own */
        bool fired;
        struct pace_settle settle;
        struct watch_lines lines;
        struct {
            int listener;
            int64_t full; /* no connection could be taken: not before this, 0: all is well */
            struct watch_commands commands;
        } socket;
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
void watch_open(const struct watch_host *h, bool first);
void watch_close(struct post *p);
const struct watch_host *watch_of(void);
/* Is there anything to look at? Then the worker stays. */
bool watch_any(void);
/* Wait until something has come, was looked at, or `limit` has passed. */
void watch_wait(struct post *p, int64_t limit);
/* An event of this kind has come. */
void watch_fire(struct watch *w);
void watch_fire_times(struct watch *w, size_t times);
void watch_begin(struct record *r, unsigned number);
void watch_acted(const struct record *r, unsigned number);
/* One line about an event: what is wrong with it, and an errno value (of either sign) or 0. */
void watch_say(const struct watch *w, const char *what, int error);
/* It could not be opened: `wrong` is what is wrong with what stands there, or NULL and the errno value says it. */
void watch_refuse(struct watch *w, const char *where, const char *wrong, int error);
/* It is not looked at any more. */
void watch_end(struct watch *w);
/* The path in the event's argument as it is in this process: 0, or -errno. */
int watch_path(const struct watch *w, char *path, size_t size);
/* Is it a path for this process alone (%p)? */
bool watch_path_is_own(const struct watch *w);
/* For kinds that read lines: bytes have come, how many lines ended; the label of the last one. */
size_t watch_lines_take(struct watch *w, const char *bytes, size_t n);
void watch_lines_begin(struct watch *w, struct record *r);
void watch_lines_acted(struct watch *w, const struct record *r, bool own);

#endif
