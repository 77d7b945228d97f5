#include "event.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "parse.h"
#include "preload.h"

const struct event_row event_table[EVENT_KINDS] = {
#define KIND(id, name, takes, polled, automatic, argument, help) {name, EVENT_TAKES_##takes, polled, automatic, argument, help},
#include "kinds.def"
#undef KIND
};

const char *event_action_name(enum record_action action)
{
    static const char *const names[RECORD_ACTIONS] = {[RECORD_RELEASE] = "release", [RECORD_MARK] = "mark"};

    return names[action];
}

/* How far the next `mark` is, outside quotes; n when there is none. */
static size_t event_find(struct event_piece p, const char *mark)
{
    size_t length = strlen(mark);
    bool quoted = false;

    for (size_t i = 0; i < p.n; i++) {
        if (quoted && p.at[i] == '\\' && i + 1 < p.n)
            i++;
        else if (p.at[i] == '"')
            quoted = !quoted;
        else if (!quoted && p.n - i >= length && memcmp(p.at + i, mark, length) == 0)
            return i;
    }
    return p.n;
}

static struct event_piece event_trim(struct event_piece p)
{
    while (p.n && strchr(" \t\n", p.at[0])) {
        p.at++;
        p.n--;
    }
    while (p.n && strchr(" \t\n", p.at[p.n - 1]))
        p.n--;
    return p;
}

/* Cut `p` at the first mark: what stands before it is returned, the rest stays; with no mark nothing is cut off and
 * `found` is false. */
static struct event_piece event_cut(struct event_piece *p, const char *mark, bool *found)
{
    size_t at = event_find(*p, mark);
    struct event_piece front = {p->at, at};

    *found = at < p->n;
    if (*found) {
        p->at += at + strlen(mark);
        p->n -= at + strlen(mark);
    }
    return event_trim(front);
}

/* Without its quotes, into a string. What is wrong with it, or NULL. */
static const char *event_copy(struct event_piece p, char *out, size_t size)
{
    struct text t;
    bool quoted = false;

    text_init(&t, out, size);
    for (size_t i = 0; i < p.n; i++) {
        if (quoted && p.at[i] == '\\' && i + 1 < p.n)
            text_char(&t, p.at[++i]);
        else if (p.at[i] == '"')
            quoted = !quoted;
        else
            text_char(&t, p.at[i]);
    }
    return quoted ? "a closing quote" : t.cut ? "something shorter" : NULL;
}

int event_python_target(const char *argument, const char **module, size_t *module_length, const char **function)
{
    const char *colon;

    if (strncmp(argument, "py:", 3) != 0)
        return -EINVAL;
    *module = argument + 3;
    colon = strchr(*module, ':');
    if (!colon || colon == *module || !colon[1] || strchr(colon + 1, ':'))
        return -EINVAL;
    *module_length = (size_t)(colon - *module);
    *function = colon + 1;
    return 0;
}

/* The number behind ",stack=" as a multiple of 16; 0: it is none. */
static unsigned event_stack(const char *s)
{
    unsigned n = 0;

    if (!*s || strlen(s) > 5)
        return 0;
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            return 0;
        n = n * 10 + (unsigned)(*s - '0');
    }
    return n <= EVENT_STACK_MAX ? (n + 15) & ~15U : 0;
}

int event_native_target(const char *argument, struct event_native *target)
{
    const char *symbol = strchr(argument, ':'), *option;
    size_t n;

    memset(target, 0, sizeof *target);
    if (strlen(argument) >= EVENT_ARGUMENT_MAX)
        return -EINVAL;
    if (symbol)
        memcpy(target->object, argument, (size_t)(symbol - argument));
    if (symbol == argument)
        return -EINVAL;
    symbol = symbol ? symbol + 1 : argument;
    option = strchr(symbol, ',');
    n = option ? (size_t)(option - symbol) : strlen(symbol);
    if (!n || memchr(symbol, ':', n))
        return -EINVAL;
    memcpy(target->symbol, symbol, n);
    target->stack = EVENT_STACK;
    if (option)
        target->stack = strncmp(option, ",stack=", 7) == 0 ? event_stack(option + 7) : 0;
    return target->stack ? 0 : -EINVAL;
}

static bool event_is(struct event_piece p, const char *word)
{
    return p.n == strlen(word) && memcmp(p.at, word, p.n) == 0;
}

/* What was expected of the argument, or NULL. */
static const char *event_check_target(const char *argument)
{
    static const char expected[] = "py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]";
    struct event_native native;
    const char *module, *function;
    size_t n;

    if (strncmp(argument, "py:", 3) != 0)
        return event_native_target(argument, &native) ? expected : NULL;
    if (event_python_target(argument, &module, &n, &function) != 0)
        return expected;
    /* The script's module is made before the script runs, and no import of it ends when its functions are there. */
    return event_is((struct event_piece){module, n}, "__main__")
               ? "py:MODULE:QUALNAME of a module that is imported, which __main__ (the script itself) is not"
               : NULL;
}

/* Likewise. */
static const char *event_check_path(const char *argument, size_t n)
{
    char path[2 * EVENT_ARGUMENT_MAX];

    if (!n || argument[n - 1] == '/')
        return "the path of a file, not of a folder";
    return preload_expand(argument, 0, "", path, sizeof path) == 0 ? NULL
                                                                   : "%p (process id), %n (program's name) or %% in a path";
}

/* Likewise; sets the amount. */
static const char *event_check_number(struct event *e)
{
    for (const char *c = e->argument; *c >= '0' && *c <= '9' && e->amount <= EVENT_FD_MOST; c++) {
        e->amount = e->amount * 10 + (*c - '0');
        if (!c[1] && e->amount >= EVENT_FD_LEAST && e->amount <= EVENT_FD_MOST)
            return NULL;
    }
    return "the number of a descriptor from 3 to 65535";
}

/* Likewise; sets the amount. */
static const char *event_check_argument(struct event *e)
{
    const struct event_row *row = &event_table[e->kind];
    size_t n = strlen(e->argument);

    if (!n && (row->argument[0] == '[' || row->takes == EVENT_TAKES_NOTHING))
        return NULL;
    switch (row->takes) {
    case EVENT_TAKES_TARGET: return event_check_target(e->argument);
    case EVENT_TAKES_SIZE: e->amount = parse_size(e->argument, n); break;
    case EVENT_TAKES_TIME: e->amount = parse_time(e->argument, n); break;
    case EVENT_TAKES_NUMBER: return event_check_number(e);
    case EVENT_TAKES_PATH: return event_check_path(e->argument, n);
    case EVENT_TAKES_NOTHING: return "nothing behind this kind of event";
    case EVENT_TAKES_TEXT: return n && !memchr(e->argument, '\n', n) ? NULL : "a text that can stand in one line";
    }
    if (e->amount > 0)
        return NULL;
    return row->takes == EVENT_TAKES_SIZE ? "a size above 0: a number and perhaps K, M or G" : "a time above 0: a number and ms, s, m or h";
}

static void event_name(struct event *e)
{
    struct text t;

    text_init(&t, e->name, sizeof e->name);
    text_str(&t, event_table[e->kind].name);
    if (!e->argument[0])
        return;
    text_char(&t, ':');
    text_str(&t, e->argument);
}

static const char event_kinds[] = "one of the kinds of event:"
#define KIND(id, name, takes, polled, automatic, argument, help) " " name
#include "kinds.def"
#undef KIND
    ;

/* What was expected where `*bad` is then set to, or NULL. */
static const char *event_read_one(struct event *e, struct event_piece item, struct event_piece *bad)
{
    struct event_piece rest = item, front = {item.at, event_find(item, ":")}, part, acts = {item.at, 0};
    bool found;

    memset(e, 0, sizeof *e);
    if (event_find(front, "=") < front.n) { /* a label stands before the kind, so before the first ':' */
        part = event_cut(&rest, "=", &found);
        *bad = part;
        const char *expected = event_copy(part, e->label, sizeof e->label);
        if (expected)
            return expected;
    }
    part = event_cut(&rest, "->", &found);
    if (found) {
        *bad = rest = acts = event_trim(rest);
        e->action = event_is(rest, event_action_name(RECORD_MARK)) ? RECORD_MARK : RECORD_RELEASE;
        if (!event_is(rest, event_action_name(e->action)))
            return "an action: release or mark";
    }
    rest = part;
    part = event_cut(&rest, ":", &found);
    *bad = part;
    for (e->kind = 0; e->kind < EVENT_KINDS && !event_is(part, event_table[e->kind].name); e->kind++)
        ;
    if (e->kind == EVENT_KINDS)
        return event_kinds;
    *bad = rest = found ? event_trim(rest) : (struct event_piece){part.at, 0};
    const char *expected = event_copy(rest, e->argument, sizeof e->argument);
    if (expected)
        return expected;
    if (acts.n && e->kind == EVENT_SOCKET) {
        *bad = acts;
        return "no action behind a socket, whose clients say what to do";
    }
    event_name(e);
    return event_check_argument(e);
}

size_t event_read(struct event *events, size_t max, const char *value, struct text *complaint)
{
    struct event_piece rest = {value, strlen(value)}, bad;
    size_t good = 0, wrong = 0;

    for (bool more = true; more;) {
        struct event_piece item = event_cut(&rest, ";", &more);
        struct event dummy;

        if (!more)
            item = event_trim(rest);
        if (!item.n)
            continue;
        bad = item;
        const char *expected = event_read_one(events && good < max ? &events[good] : &dummy, item, &bad);
        if (!expected && good == max) {
            expected = "at most 16 events";
            bad = item;
        }
        if (!expected)
            good++;
        else if (!wrong++)
            text_expected(complaint, value, bad.at, bad.n, expected);
    }
    if (wrong > 1) {
        text_str(complaint, " (and ");
        text_u64(complaint, wrong - 1);
        text_str(complaint, " more)");
    }
    return good;
}

bool event_next(const char **value, struct event_piece *item, enum event_kind *kind, struct event_piece *argument, char *text, size_t size)
{
    struct event_piece rest = {*value, strlen(*value)}, front, part;
    bool more = true, found;

    for (item->n = 0; more && !item->n;) {
        *item = event_cut(&rest, ";", &more);
        if (!more)
            *item = event_trim(rest);
    }
    *value = more ? rest.at : rest.at + rest.n;
    part = *item;
    front = (struct event_piece){part.at, event_find(part, ":")};
    if (event_find(front, "=") < front.n)
        (void)event_cut(&part, "=", &found);
    front = event_cut(&part, ":", &found);
    for (*kind = 0; *kind < EVENT_KINDS && !(found && event_is(front, event_table[*kind].name)); (*kind)++)
        ;
    if (!found)
        part.n = 0;
    front = event_cut(&part, "->", &found);
    *argument = found ? front : event_trim(part);
    if (*kind == EVENT_KINDS || event_copy(*argument, text, size)) {
        *kind = EVENT_KINDS;
        *text = '\0';
    }
    return item->n > 0;
}
