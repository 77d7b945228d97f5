/* event: the grammar of GIVEBACK_ON: [label=]kind[:argument][->action], several separated by ';'.
 *
 * The kinds stand in one table (kinds.def), from which reading, help and documents are made. A part may stand in double
 * quotes, within which ; = : -> are ordinary and \" and \\ are a quote and a backslash. Pure: no malloc, no stdio. */
#ifndef GIVEBACK_EVENT_H
#define GIVEBACK_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "text.h"

#define EVENT_MAX 16          /* events in one process */
#define EVENT_LABEL_MAX 64    /* bytes of a label, with the NUL */
#define EVENT_ARGUMENT_MAX 256
#define EVENT_STACK 256        /* bytes of stack arguments that pass through a hook unless more is asked for, */
#define EVENT_STACK_MAX 65536  /* and the most that may be */

enum event_kind {
#define KIND(id, name, takes, polled, automatic, argument, help) EVENT_##id,
#include "kinds.def"
#undef KIND
    EVENT_KINDS
};

enum event_takes {
    EVENT_TAKES_TARGET,
    EVENT_TAKES_SIZE,
    EVENT_TAKES_TIME,
    EVENT_TAKES_TEXT,
    EVENT_TAKES_NUMBER,
    EVENT_TAKES_PATH,
    EVENT_TAKES_NOTHING
};

#define EVENT_FD_LEAST 3 /* below stand the host's own input and output, which nobody else may read */
#define EVENT_FD_MOST 65535

struct event_row {
    const char *name; /* exit */
    enum event_takes takes;
    bool polled;          /* only the worker sees it, from the start */
    bool automatic;       /* nobody asked: at most one in GIVEBACK_INTERVAL, and with a back-off */
    const char *argument; /* what it looks like, in [ ] where it may be left out; "": there is none */
    const char *help;     /* one sentence */
};
extern const struct event_row event_table[EVENT_KINDS];

struct event {
    enum event_kind kind;
    enum record_action action;
    char label[EVENT_LABEL_MAX];       /* "": none */
    char argument[EVENT_ARGUMENT_MAX]; /* behind the first ':' */
    char name[EVENT_ARGUMENT_MAX + 16]; /* kind:argument, as records show it */
    int64_t amount;                     /* the argument as bytes, nanoseconds or a number; 0: it was left out, or is none of these */
};

/* release, mark */
const char *event_action_name(enum record_action action);

/* Reads `value` into events[0] ... events[max - 1], or only checks it when events is NULL; how many were good. A bad item
 * is dropped; `complaint` gets one line without '\n' that names the first bad one, its place (1 is the first character)
 * and what was expected, and counts the others; it stays empty when all were good. */
size_t event_read(struct event *events, size_t max, const char *value, struct text *complaint);

/* For who rewrites a value: its next item, and of that the argument, where both stand with their quotes and as the argument is
 * without them. `kind` is EVENT_KINDS, and the argument empty, where there is no such kind or it cannot be read. false: there
 * is no further item. */
struct event_piece {
    const char *at;
    size_t n;
};
bool event_next(const char **value, struct event_piece *item, enum event_kind *kind, struct event_piece *argument, char *text, size_t size);

/* The two parts of py:MODULE:QUALNAME behind the prefix. 0, or -EINVAL. The module's name is `module_length` bytes from
 * *module on, the rest is *function. */
int event_python_target(const char *argument, const char **module, size_t *module_length, const char **function);

/* A native function: [OBJECT:]SYMBOL[,stack=N], shell globs over names as symbol tables have them. */
struct event_native {
    char object[EVENT_ARGUMENT_MAX]; /* over base names; "": any object */
    char symbol[EVENT_ARGUMENT_MAX];
    unsigned stack; /* bytes of stack arguments that the function is given, a multiple of 16 */
};
/* 0, or -EINVAL. Any TARGET that does not begin with py: is meant for it. */
int event_native_target(const char *argument, struct event_native *target);

#endif
