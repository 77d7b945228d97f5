/* show: see show.h. */
#include "show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "text.h"

static struct json_object *member(struct json_object *o, const char *key)
{
    struct json_object *value = NULL;
    return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &value) ? value : NULL;
}

/* null and what is no number: unknown. */
static int64_t figure(struct json_object *o, const char *key)
{
    struct json_object *value = member(o, key);
    return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : PROCFS_UNKNOWN;
}

static int64_t nanoseconds(struct json_object *o, const char *key)
{
    struct json_object *value = member(o, key);
    return json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int)
               ? (int64_t)(json_object_get_double(value) * 1e9)
               : PROCFS_UNKNOWN;
}

static const char *string(struct json_object *o, const char *key)
{
    struct json_object *value = member(o, key);
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

/* An error number by the name that the record has for it. */
static int error_number(const char *name)
{
    for (int e = 1; name && e < 134; e++)
        if (strerrorname_np(e) && strcmp(strerrorname_np(e), name) == 0)
            return e;
    return name ? atoi(name) : 0;
}

static void take_memory(struct procfs_memory *m, struct json_object *o)
{
    procfs_memory_unknown(m);
    m->anon = figure(o, "anon");
    m->file = figure(o, "file");
    m->shmem = figure(o, "shmem");
    m->swap = figure(o, "swap");
}

static void copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from ? from : "");
}

static void take_allocators(struct record *r, struct json_object *list)
{
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < n && r->n_allocators < RECORD_ALLOCATORS; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        struct record_allocator *a = &r->allocator[r->n_allocators++];
        copy(a->name, sizeof a->name, string(o, "name"));
        copy(a->version, sizeof a->version, string(o, "version"));
        copy(a->object, sizeof a->object, string(o, "object"));
        copy(a->call, sizeof a->call, string(o, "call"));
        a->returned_known = json_object_is_type(member(o, "returned"), json_type_int);
        a->returned = figure(o, "returned");
        a->error = error_number(string(o, "error"));
    }
}

/* The text of it, as record_text makes it; "" when it is no record. */
static const char *record_line(struct json_object *o)
{
    static struct record r;
    static char line[RECORD_MAX];
    const char *action = string(o, "action");
    memset(&r, 0, sizeof r);
    line[0] = 0;
    if (!action)
        return line;
    r.action = strcmp(action, "mark") == 0 ? RECORD_MARK : RECORD_RELEASE;
    r.pid = (int)figure(o, "pid");
    r.program = string(o, "program");
    r.event = string(o, "event");
    r.label = string(o, "label");
    take_memory(&r.before, member(o, "before"));
    take_memory(&r.after, member(o, "after"));
    r.ns = nanoseconds(o, "seconds");
    r.merged = (unsigned)figure(o, "merged");
    r.lost = (unsigned)figure(o, "lost");
    r.uncertain = figure(o, "uncertain");
    r.reason = string(o, "reason");
    r.unreadable = error_number(string(o, "unreadable"));
    take_allocators(&r, member(o, "allocators"));
    record_text(&r, line, sizeof line);
    return line;
}

bool show_record(struct json_object *record)
{
    const char *line = record_line(record);
    fputs(line, stdout);
    return *line;
}

/* For a terminal: a program may call itself, and its events, anything. */
static void print_text(const char *s)
{
    char line[1024];
    struct text t;
    text_init(&t, line, sizeof line);
    text_printable(&t, s ? s : "?", sizeof line - 8);
    fputs(line, stdout);
}

static void print_amount(const char *what, int64_t bytes)
{
    char line[64];
    struct text t;
    text_init(&t, line, sizeof line);
    if (bytes == PROCFS_UNKNOWN)
        text_str(&t, "unknown");
    else
        text_amount(&t, bytes);
    printf("%s%s", what, line);
}

static void show_allocators(struct json_object *list)
{
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        fputs("  ", stdout);
        print_text(string(o, "name"));
        if (string(o, "version"))
            putchar(' '), print_text(string(o, "version"));
        fputs(" in ", stdout);
        print_text(string(o, "object"));
        if (figure(o, "held") == PROCFS_UNKNOWN && figure(o, "live") == PROCFS_UNKNOWN) {
            puts(": held and live unknown until a release asks");
            continue;
        }
        print_amount(": held ", figure(o, "held"));
        print_amount(", live ", figure(o, "live"));
        putchar('\n');
    }
}

static void show_events(struct json_object *list)
{
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        fputs("  event ", stdout);
        if (string(o, "label"))
            print_text(string(o, "label")), putchar('=');
        print_text(string(o, "event"));
        if (string(o, "action") && strcmp(string(o, "action"), "release") != 0)
            fputs("->", stdout), print_text(string(o, "action"));
        printf(": came %lld times\n", (long long)figure(o, "count"));
    }
}

void show_status(struct json_object *status)
{
    int64_t due = nanoseconds(status, "due"), backoff = figure(status, "backoff");
    printf("%lld ", (long long)figure(status, "pid"));
    print_text(string(status, "program"));
    fputs(" (giveback ", stdout);
    print_text(string(status, "version"));
    print_amount("): RssAnon ", figure(status, "anon"));
    putchar('\n');
    show_allocators(member(status, "allocators"));
    show_events(member(status, "events"));
    if (json_object_get_boolean(member(status, "paused")))
        puts("  automatic events: paused; `giveback resume` lets them go on");
    else if (due > 0 || backoff > 1)
        printf("  automatic events: not for %.1f s, %lld times the interval apart\n", (double)due / 1e9, (long long)backoff);
    printf("  releases %lld, marks %lld, events merged into others %lld, releases too small for a line %lld\n",
           (long long)figure(status, "releases"), (long long)figure(status, "marks"), (long long)figure(status, "merged"),
           (long long)figure(status, "unlogged"));
    const char *last = record_line(member(status, "last"));
    printf("  last record: %s", *last ? last : "none yet\n");
}
