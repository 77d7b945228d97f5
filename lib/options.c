#include "options.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "parse.h"

#define OPTIONS_SHOWN 60 /* bytes of a bad item that a complaint shows */

const struct option_row option_table[OPTION_COUNT] = {
#define OPTION(id, variable, flag, argument, preset, help) {variable, flag, argument, preset, help},
#include "options.def"
#undef OPTION
};

/* A piece of a value. */
struct options_item {
    const char *at;
    size_t n;
};

/* NAME: "ITEM" at PLACE: expected WHAT */
static int options_bad(struct text *complaint, enum option_id id, const char *value, struct options_item item,
                       const char *expected)
{
    text_str(complaint, option_table[id].variable);
    text_str(complaint, ": ");
    text_expected(complaint, value, item.at, item.n, expected);
    return -EINVAL;
}

/* The value without blanks around it. */
static struct options_item options_trim(const char *value)
{
    struct options_item item = {value + strspn(value, " \t\n"), 0};

    item.n = strlen(item.at);
    while (item.n && strchr(" \t\n", item.at[item.n - 1]))
        item.n--;
    return item;
}

/* `no` or `yes`, as a flag. */
static int options_choice(struct text *complaint, enum option_id id, const char *value, const char *no, const char *yes,
                          bool *flag)
{
    struct options_item item = options_trim(value);
    char expected[32];
    struct text t;

    if (parse_is(item.at, item.n, no) || parse_is(item.at, item.n, yes)) {
        *flag = parse_is(item.at, item.n, yes);
        return 0;
    }
    text_init(&t, expected, sizeof expected);
    text_str(&t, no);
    text_str(&t, " or ");
    text_str(&t, yes);
    return options_bad(complaint, id, value, item, expected);
}

static int options_set_switch(struct settings *s, const char *value, struct text *complaint)
{
    struct options_item item = options_trim(value);
    int on = parse_switch(item.at, item.n);

    if (on < 0)
        return options_bad(complaint, OPTION_SWITCH, value, item, "on or off (also 1, yes, true; 0, no, false)");
    s->on = on;
    return 0;
}

static int options_set_signal(struct settings *s, const char *value, struct text *complaint)
{
    struct options_item item = options_trim(value);
    const char *expected;
    int number = parse_signal(item.at, item.n, &expected);

    if (number < 0)
        return options_bad(complaint, OPTION_SIGNAL, value, item, expected);
    s->signal = number;
    return 0;
}

static int options_set_interval(struct settings *s, const char *value, struct text *complaint)
{
    struct options_item item = options_trim(value);
    int64_t ns = parse_is(item.at, item.n, "0") ? 0 : parse_time(item.at, item.n);

    if (ns < 0)
        return options_bad(complaint, OPTION_INTERVAL, value, item, "a number and ms, s, m or h, or 0");
    s->interval = ns;
    return 0;
}

/* A path with %p and %n in it, into OPTION_VALUE_MAX + 1 bytes. */
static int options_set_path(char *path, enum option_id id, const char *value, const char *expected, struct text *complaint)
{
    struct options_item whole = {value, strlen(value)};

    if (whole.n > OPTION_VALUE_MAX) {
        whole.at += OPTION_VALUE_MAX;
        whole.n -= OPTION_VALUE_MAX;
        return options_bad(complaint, id, value, whole, "at most 512 characters");
    }
    if (value[whole.n - 1] == '/')
        return options_bad(complaint, id, value, whole, expected);
    for (const char *c = strchr(value, '%'); c; c = strchr(c + 2, '%'))
        if (!c[1] || !strchr("pn%", c[1])) {
            struct options_item item = {c, c[1] ? 2 : 1};
            return options_bad(complaint, id, value, item, "%p (process id), %n (program's name) or %% in a path");
        }
    memcpy(path, value, whole.n + 1);
    return 0;
}

static int options_set_log(struct settings *s, const char *value, struct text *complaint)
{
    struct options_item word = options_trim(value);

    if (parse_is(word.at, word.n, "stderr") || parse_is(word.at, word.n, "/dev/stderr")) {
        s->log = OPTION_LOG_STDERR;
        return 0;
    }
    if (parse_is(word.at, word.n, "none")) {
        s->log = OPTION_LOG_NONE;
        return 0;
    }
    int error = options_set_path(s->log_path, OPTION_LOG, value, "stderr, none, or the path of a file, not of a folder", complaint);
    if (!error)
        s->log = OPTION_LOG_PATH;
    return error;
}

static int options_set_dir(struct settings *s, const char *value, struct text *complaint)
{
    struct options_item item = options_trim(value);

    if (item.at[0] != '/' || item.n > OPTION_VALUE_MAX)
        return options_bad(complaint, OPTION_DIR, value, item, "the absolute path of a folder, at most 512 characters");
    memcpy(s->dir, item.at, item.n);
    s->dir[item.n] = '\0';
    return 0;
}

/* What is wrong with a glob over programs' names; NULL: nothing. */
static const char *options_check_glob(struct options_item item)
{
    const char *open = NULL;

    if (memchr(item.at, '/', item.n))
        return "a glob over the program's name, without folders";
    for (size_t i = 0; i < item.n; i++) {
        if (item.at[i] == '\\' && !open) {
            if (++i == item.n)
                return "a character behind the backslash";
        } else if (item.at[i] == '[' && !open) {
            open = item.at + i;
        } else if (item.at[i] == ']' && open && item.at + i > open + 1) {
            open = NULL;
        }
    }
    return open ? "a ] for each [" : NULL;
}

static bool options_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/* What is wrong with [OBJECT:]SYMBOL; NULL: nothing. */
static const char *options_check_call(struct options_item item)
{
    const char *colon = memchr(item.at, ':', item.n);
    const char *symbol = colon ? colon + 1 : item.at, *end = item.at + item.n;

    for (const char *c = item.at; c < symbol - 1; c++)
        if (!options_is_letter(*c) && !(*c >= '0' && *c <= '9') && !strchr(".-+~@*?[]!^", *c))
            return "[OBJECT:]SYMBOL with OBJECT a glob over libraries' base names";
    if (colon == item.at || symbol == end || !options_is_letter(*symbol))
        return "[OBJECT:]SYMBOL with SYMBOL the name of a function";
    for (const char *c = symbol; c < end; c++)
        if (!options_is_letter(*c) && !(*c >= '0' && *c <= '9'))
            return "[OBJECT:]SYMBOL with SYMBOL the name of a function";
    return NULL;
}

/* Item by item into `list` (OPTION_VALUE_MAX + 1 bytes), with ',' between them. The first bad one is complained of, the
 * others are counted. A glob that is wrong is kept all the same, where it matches nothing or itself: with it dropped,
 * ONLY would be empty and the library active everywhere. */
static int options_set_list(char *list, enum option_id id, const char *value, struct text *complaint)
{
    struct options_item item;
    struct text out;
    unsigned bad = 0;

    text_init(&out, list, OPTION_VALUE_MAX + 1);
    for (const char *rest = value; parse_item(&rest, &item.at, &item.n);) {
        const char *expected = id == OPTION_CALL ? options_check_call(item) : options_check_glob(item);
        bool drop = expected && id == OPTION_CALL;
        if (!drop && out.len + (out.len > 0) + item.n > OPTION_VALUE_MAX) {
            expected = "at most 512 characters in all";
            drop = true;
        }
        if (expected && !bad++)
            options_bad(complaint, id, value, item, expected);
        if (drop)
            continue;
        if (out.len)
            text_char(&out, ',');
        text_mem(&out, item.at, item.n);
    }
    if (!bad && !out.len)
        return options_bad(complaint, id, value, (struct options_item){value, strlen(value)},
                           option_table[id].argument);
    if (bad > 1) {
        text_str(complaint, " (and ");
        text_u64(complaint, bad - 1);
        text_str(complaint, " more)");
    }
    return bad ? -EINVAL : 0;
}

/* Only a check: the events themselves are kept by whoever asks for them (options_events). */
static int options_set_on(const char *value, struct text *complaint)
{
    char line[256];
    struct text t;

    text_init(&t, line, sizeof line);
    event_read(NULL, EVENT_MAX, value, &t);
    if (!t.len)
        return 0;
    text_str(complaint, option_table[OPTION_ON].variable);
    text_str(complaint, ": ");
    text_str(complaint, line);
    return -EINVAL;
}

int options_set(struct settings *s, enum option_id id, const char *value, struct text *complaint)
{
    if (!options_trim(value).n)
        return 0;
    switch (id) {
    case OPTION_SWITCH: return options_set_switch(s, value, complaint);
    case OPTION_SIGNAL: return options_set_signal(s, value, complaint);
    case OPTION_ON: return options_set_on(value, complaint);
    case OPTION_LOG: return options_set_log(s, value, complaint);
    case OPTION_FORMAT: return options_choice(complaint, id, value, "text", "json", &s->json);
    case OPTION_DETAIL: return options_choice(complaint, id, value, "auto", "full", &s->full_detail);
    case OPTION_INTERVAL: return options_set_interval(s, value, complaint);
    case OPTION_CHILDREN: return options_choice(complaint, id, value, "keep", "drop", &s->drop_children);
    case OPTION_ONLY: return options_set_list(s->only, id, value, complaint);
    case OPTION_SKIP: return options_set_list(s->skip, id, value, complaint);
    case OPTION_CALL: return options_set_list(s->call, id, value, complaint);
    case OPTION_DIR: return options_set_dir(s, value, complaint);
    case OPTION_METRICS: return options_set_path(s->metrics_path, id, value, "the path of a file, not of a folder", complaint);
    case OPTION_COUNT: break;
    }
    return -EINVAL;
}

/* The value of the first NAME=VALUE, as getenv takes it; NULL: unset. */
static const char *options_get(char *const *environment, const char *name)
{
    size_t n = strlen(name);

    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
            return *environment + n + 1;
    return NULL;
}

size_t options_events(struct event *events, size_t max, char *const *environment)
{
    const char *value = options_get(environment, option_table[OPTION_ON].variable);
    char line[256];
    struct text t;

    text_init(&t, line, sizeof line);
    return value ? event_read(events, max, value, &t) : 0;
}

bool options_off(char *const *environment)
{
    const char *value = options_get(environment, option_table[OPTION_SWITCH].variable);
    struct options_item item = options_trim(value ? value : "");

    return parse_switch(item.at, item.n) == 0;
}

/* GIVEBACK_SIGNL: no such variable, did you mean GIVEBACK_SIGNAL? */
static void options_unknown(const char *name, size_t n, option_complaint complain, void *context)
{
    static const char prefix[] = OPTION_PREFIX "_";
    const size_t skip = sizeof prefix - 1;
    const char *nearest = NULL;
    unsigned least = 3; /* two slips at most, and fewer than the name has letters */
    char line[256], shown[OPTIONS_SHOWN + 5];
    struct text t;

    for (unsigned id = 0; id < OPTION_COUNT; id++) {
        const char *known = option_table[id].variable;
        size_t length = strlen(known);
        if (length <= skip)
            continue;
        unsigned distance = parse_distance(name + skip, n - skip, known + skip, length - skip);
        if (distance < least && distance < n - skip) {
            least = distance;
            nearest = known;
        }
    }
    size_t keep = n < sizeof shown - 1 ? n : sizeof shown - 1;
    memcpy(shown, name, keep);
    shown[keep] = '\0';
    text_init(&t, line, sizeof line);
    text_printable(&t, shown, OPTIONS_SHOWN);
    text_str(&t, ": no such variable, expected ");
    text_str(&t, nearest ? nearest : "one of those that `giveback options` lists");
    complain(context, line);
}

static bool options_is_known(const char *name, size_t n)
{
    for (unsigned id = 0; id < OPTION_COUNT; id++)
        if (strlen(option_table[id].variable) == n && memcmp(option_table[id].variable, name, n) == 0)
            return true;
    return false;
}

void options_read(struct settings *s, char *const *environment, option_complaint complain, void *context)
{
    char line[512];
    struct text t;

    memset(s, 0, sizeof *s);
    for (unsigned id = 0; id < OPTION_COUNT; id++) {
        const char *value = options_get(environment, option_table[id].variable);
        text_init(&t, line, sizeof line);
        options_set(s, (enum option_id)id, option_table[id].preset, &t);
        if (value && options_set(s, (enum option_id)id, value, &t) != 0)
            complain(context, line);
    }
    const char *runtime = options_get(environment, "XDG_RUNTIME_DIR");
    if (runtime && *runtime == '/' && strlen(runtime) <= OPTION_VALUE_MAX)
        memcpy(s->runtime, runtime, strlen(runtime) + 1);
    for (; environment && *environment; environment++) {
        const char *name = *environment, *end = strchr(name, '=');
        size_t n = end ? (size_t)(end - name) : 0;
        if (n >= sizeof OPTION_PREFIX && strncmp(name, OPTION_PREFIX "_", sizeof OPTION_PREFIX) == 0 &&
            !options_is_known(name, n))
            options_unknown(name, n, complain, context);
    }
}

const char *options_signal_name(int number, char *buffer, size_t size)
{
    const char *name = parse_signal_name(number);
    struct text t;
    int least = SIGRTMIN;

    text_init(&t, buffer, size);
    if (name) {
        text_str(&t, name);
    } else if (number >= least && number <= SIGRTMAX) {
        text_str(&t, "RTMIN");
        if (number > least) {
            text_char(&t, '+');
            text_i64(&t, number - least);
        }
    } else if (number == 0) {
        text_str(&t, "none");
    } else {
        text_i64(&t, number);
    }
    return buffer;
}
