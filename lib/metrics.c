#include "metrics.h"

#include <string.h>

#include "procfs.h"
#include "text.h"

void metrics_start(struct metrics *m)
{
    memset(m, 0, sizeof *m);
    m->before = m->after = PROCFS_UNKNOWN;
    m->factor = 1;
}

static bool metrics_same(const struct metrics_allocator *a, const struct record_allocator *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->version, b->version) == 0 && strcmp(a->object, b->object) == 0;
}

static void metrics_add(int64_t *sum, int64_t figure)
{
    if (figure >= 0 && __builtin_add_overflow(*sum == PROCFS_UNKNOWN ? 0 : *sum, figure, sum))
        *sum = INT64_MAX;
}

/* Copies that no label tells apart are one series. */
static void metrics_allocators(struct metrics *m, const struct record *r)
{
    m->n_allocators = 0;
    for (unsigned i = 0; i < r->n_allocators; i++) {
        const struct record_allocator *a = &r->allocator[i];
        struct metrics_allocator *to = m->allocator;

        while (to < m->allocator + m->n_allocators && !metrics_same(to, a))
            to++;
        if (to == m->allocator + m->n_allocators) {
            m->n_allocators++;
            memcpy(to->name, a->name, sizeof to->name);
            memcpy(to->version, a->version, sizeof to->version);
            memcpy(to->object, a->object, sizeof to->object);
            to->held = to->live = PROCFS_UNKNOWN;
        }
        metrics_add(&to->held, a->held_after);
        metrics_add(&to->live, a->live);
    }
}

void metrics_count(struct metrics *m, const struct record *r, unsigned kind, bool unlogged, bool lost)
{
    m->merged += r->merged;
    m->unlogged += unlogged;
    m->lost += lost;
    m->time_ms = r->time_ms > 0 ? r->time_ms : 0;
    m->before = r->before.anon;
    m->after = r->after.anon;
    if (r->action == RECORD_MARK) {
        m->marks[kind]++;
        return;
    }
    m->releases[kind]++;
    m->ns += r->ns;
    if (r->came_back > 0)
        m->came_back += (uint64_t)r->came_back;
    if (r->faults > 0)
        m->faults += (uint64_t)r->faults;
    if (m->before != PROCFS_UNKNOWN && m->after != PROCFS_UNKNOWN) {
        if (m->before > m->after)
            m->returned += (uint64_t)(m->before - m->after);
        else
            m->grown += (uint64_t)(m->after - m->before);
    }
    metrics_allocators(m, r);
}

struct metrics_writer {
    struct text t;
    const char *program;
    int pid;
};

static void metrics_family(struct metrics_writer *w, const char *name, const char *type, const char *unit, const char *help)
{
    struct text *t = &w->t;

    text_str(t, "# TYPE giveback_");
    text_str(t, name);
    text_char(t, ' ');
    text_str(t, type);
    if (unit) {
        text_str(t, "\n# UNIT giveback_");
        text_str(t, name);
        text_char(t, ' ');
        text_str(t, unit);
    }
    text_str(t, "\n# HELP giveback_");
    text_str(t, name);
    text_char(t, ' ');
    text_str(t, help);
    text_char(t, '\n');
}

static void metrics_label(struct text *t, const char *name, const char *value)
{
    text_str(t, name);
    text_str(t, "=\"");
    text_escaped(t, value);
    text_char(t, '"');
}

/* The sample's name and its labels. */
static void metrics_begin(struct metrics_writer *w, const char *name, const char *suffix)
{
    struct text *t = &w->t;

    text_str(t, "giveback_");
    text_str(t, name);
    text_str(t, suffix);
    text_char(t, '{');
    metrics_label(t, "program", w->program);
    if (w->pid) {
        text_str(t, ",pid=\"");
        text_i64(t, w->pid);
        text_char(t, '"');
    }
}

static void metrics_more(struct metrics_writer *w, const char *name, const char *value)
{
    text_char(&w->t, ',');
    metrics_label(&w->t, name, value);
}

static void metrics_end(struct metrics_writer *w, int64_t value)
{
    text_str(&w->t, "} ");
    text_i64(&w->t, value);
    text_char(&w->t, '\n');
}

static void metrics_counter(struct metrics_writer *w, const char *name, const char *unit, uint64_t value, const char *help)
{
    metrics_family(w, name, "counter", unit, help);
    metrics_begin(w, name, "_total");
    metrics_end(w, (int64_t)(value & INT64_MAX));
}

static const char *metrics_kind(unsigned kind)
{
    return kind == METRICS_SIGNAL ? "signal" : kind == METRICS_CALL ? "call" : event_table[kind].name;
}

/* All kinds from the start: a series that appears with its first event has no rate at that moment. */
static void metrics_kinds(struct metrics_writer *w, const char *name, const uint64_t *counts, const char *help)
{
    metrics_family(w, name, "counter", NULL, help);
    for (unsigned kind = 0; kind < METRICS_KINDS; kind++) {
        metrics_begin(w, name, "_total");
        metrics_more(w, "kind", metrics_kind(kind));
        metrics_end(w, (int64_t)counts[kind]);
    }
}

/* What is unknown is left out. */
static void metrics_gauge(struct metrics_writer *w, const char *name, int64_t value, const char *help)
{
    metrics_family(w, name, "gauge", "bytes", help);
    if (value == PROCFS_UNKNOWN)
        return;
    metrics_begin(w, name, "");
    metrics_end(w, value);
}

static void metrics_gauges(struct metrics_writer *w, const struct metrics *m, const char *name, bool live, const char *help)
{
    metrics_family(w, name, "gauge", "bytes", help);
    for (unsigned i = 0; i < m->n_allocators; i++) {
        const struct metrics_allocator *a = &m->allocator[i];
        int64_t value = live ? a->live : a->held;

        if (value == PROCFS_UNKNOWN)
            continue;
        metrics_begin(w, name, "");
        metrics_more(w, "allocator", a->name);
        metrics_more(w, "version", a->version);
        metrics_more(w, "object", a->object);
        metrics_end(w, value);
    }
}

size_t metrics_text(const struct metrics *m, const char *program, int pid, char *buffer, size_t size)
{
    struct metrics_writer w = {.program = program, .pid = pid};

    text_init(&w.t, buffer, size);
    metrics_family(&w, "build", "info", NULL, "The version of the library.");
    metrics_begin(&w, "build", "_info");
    metrics_more(&w, "version", GIVEBACK_VERSION);
    metrics_end(&w, 1);
    metrics_kinds(&w, "releases", m->releases, "Releases, by the kind of event that asked.");
    metrics_kinds(&w, "marks", m->marks, "Records of the memory without a release, by the kind of event that asked.");
    metrics_counter(&w, "merged_events", NULL, m->merged, "Events that were answered by the action for an earlier one.");
    metrics_counter(&w, "returned_bytes", "bytes", m->returned, "RssAnon before releases minus RssAnon after them, where it fell.");
    metrics_counter(&w, "grown_bytes", "bytes", m->grown, "RssAnon after releases minus RssAnon before them, where it rose meanwhile.");
    metrics_counter(&w, "came_back_bytes", "bytes", m->came_back, "Of what was returned, what was resident again at the next release.");
    metrics_counter(&w, "faults", NULL, m->faults, "Minor faults between one release and the next.");
    metrics_family(&w, "release_seconds", "counter", "seconds", "Time spent in releases.");
    metrics_begin(&w, "release_seconds", "_total");
    text_str(&w.t, "} ");
    text_seconds(&w.t, m->ns);
    text_char(&w.t, '\n');
    metrics_counter(&w, "unlogged_releases", NULL, m->unlogged, "Releases that nobody asked for and that gave too little for a line in the log.");
    metrics_counter(&w, "lost_records", NULL, m->lost, "Records that could not be written to the log.");
    metrics_gauge(&w, "rss_anon_before_bytes", m->before, "RssAnon before the last action.");
    metrics_gauge(&w, "rss_anon_after_bytes", m->after, "RssAnon after the last action.");
    metrics_family(&w, "last_action_timestamp_seconds", "gauge", "seconds", "When the last action began, since the epoch.");
    if (m->time_ms) {
        metrics_begin(&w, "last_action_timestamp_seconds", "");
        text_str(&w.t, "} ");
        text_i64(&w.t, m->time_ms / 1000);
        text_char(&w.t, '.');
        text_pad(&w.t, (uint64_t)m->time_ms % 1000, 3);
        text_char(&w.t, '\n');
    }
    metrics_family(&w, "backoff_factor", "gauge", NULL, "How many times GIVEBACK_INTERVAL automatic releases are held back.");
    metrics_begin(&w, "backoff_factor", "");
    metrics_end(&w, m->factor);
    metrics_gauges(&w, m, "allocator_held_bytes", false, "Freed by the program and kept by the allocator, after the last release.");
    metrics_gauges(&w, m, "allocator_live_bytes", true, "In use by the program, after the last release.");
    text_str(&w.t, "# EOF\n");
    return w.t.cut ? 0 : w.t.len;
}
