/* options: the one table of environment variables (options.def), and how their values become settings.
 *
 * Reading, `giveback options`, `--help`, the man page and the README's table are made from it.
 * Pure: no malloc, no stdio; the values are copied, since a host may overwrite its environment (setproctitle) or
 * replace it (setenv, clearenv) at any time. */
#ifndef GIVEBACK_OPTIONS_H
#define GIVEBACK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "text.h"

#define OPTION_PREFIX "GIVEBACK"
#define OPTION_VALUE_MAX 512 /* longest value that is kept, without the NUL; a longer one is a bad value */

enum option_id {
#define OPTION(id, variable, flag, argument, preset, help) OPTION_##id,
#include "options.def"
#undef OPTION
    OPTION_COUNT
};

struct option_row {
    const char *variable; /* GIVEBACK_SIGNAL */
    const char *flag;     /* of `giveback run`: signal for --signal; NULL: none */
    const char *argument; /* what a value looks like, for help: NAME|none */
    const char *preset;   /* the default as text, "" when empty */
    const char *help;     /* one sentence */
};
extern const struct option_row option_table[OPTION_COUNT];

enum option_log { OPTION_LOG_STDERR, OPTION_LOG_NONE, OPTION_LOG_PATH };

struct settings {
    bool on;
    int signal;           /* 0: none */
    enum option_log log;
    char log_path[OPTION_VALUE_MAX + 1]; /* with %p and %n still in it */
    char metrics_path[OPTION_VALUE_MAX + 1]; /* likewise; "": none */
    bool json;
    bool full_detail;
    int64_t interval; /* nanoseconds; 0: none */
    bool drop_children;
    char only[OPTION_VALUE_MAX + 1], skip[OPTION_VALUE_MAX + 1]; /* globs, separated by ',' or ';' or blanks */
    char dir[OPTION_VALUE_MAX + 1];     /* "": by the rules of place.h, */
    char runtime[OPTION_VALUE_MAX + 1]; /* for which this is XDG_RUNTIME_DIR, where that is an absolute path */
    char call[OPTION_VALUE_MAX + 1];                             /* checked: items separated by ',' or ';' */
};

/* Called once for each bad value with one line without '\n':
 * GIVEBACK_SIGNAL: "FOO" at 1: expected a signal's name, RTMIN+n, a number from 1 to 64, or none */
typedef void (*option_complaint)(void *context, const char *line);

/* Settings from the environment. Unset and empty variables keep their default; a bad item is dropped and complained
 * of; a variable that begins with GIVEBACK_ and is not in the table is complained of too. environment may be NULL.
 * Any thread; call it once, early: nothing in *s points into the environment. */
void options_read(struct settings *s, char *const *environment, option_complaint complain, void *context);
/* The good ones of the events of GIVEBACK_ON; how many. options_read has complained of the others. */
size_t options_events(struct event *events, size_t max, char *const *environment);
/* Only whether GIVEBACK itself says off: cheap, for the first lines of the constructor. */
bool options_off(char *const *environment);
/* The value of one variable, checked as options_read does it: 0, or -EINVAL with the line in `complaint`. */
int options_set(struct settings *s, enum option_id id, const char *value, struct text *complaint);
/* The name of a signal without SIG ("USR1", "RTMIN+3", "none" for 0), in a buffer of at least 16 bytes. */
const char *options_signal_name(int number, char *buffer, size_t size);

#endif
