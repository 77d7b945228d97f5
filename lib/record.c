#include "record.h"

#include <stdbool.h>
#include <string.h>

#include "event.h"
#include "json.h"
#include "text.h"

#define RECORD_MIB (INT64_C(1) << 20)
/* Longest reason, and the bytes kept for what else follows the allocators in a JSON record: keys and three numbers. */
#define RECORD_REASON 512
#define RECORD_TAIL 160
/* Longest form of the strings that come from outside, so that the record without allocators always fits. */
#define RECORD_STRING 512
#define RECORD_PROGRAM 256

static bool record_known(int64_t figure)
{
    return figure != PROCFS_UNKNOWN;
}

/* "7338 -> 3510 MiB (-52 %)", both in one unit: KiB only where MiB would be coarser than a tenth. */
static void record_levels(struct text *t, int64_t before, int64_t after, int64_t uncertain)
{
    bool small = before < 10 * RECORD_MIB && after < 10 * RECORD_MIB;
    int64_t change = before >= 1024 ? (after - before) / 1024 * 200 / (before / 1024) : 0; /* in half per cent */
    int64_t percent = (change + (change < 0 ? -1 : 1)) / 2;

    small ? text_i64(t, before / 1024) : text_mib(t, before);
    if (before != after) {
        text_str(t, " -> ");
        small ? text_i64(t, after / 1024) : text_mib(t, after);
    }
    text_str(t, small ? " KiB" : " MiB");
    if (percent) {
        text_str(t, percent > 0 ? " (+" : " (");
        text_i64(t, percent);
        text_str(t, " %)");
    }
    if (uncertain >= RECORD_MIB) {
        text_str(t, ", give or take ");
        text_amount(t, uncertain);
    }
}

static void record_duration(struct text *t, int64_t ns)
{
    int64_t us = ns / 1000 + (ns % 1000 >= 500), ms = ns / 1000000 + (ns % 1000000 >= 500000);

    if (us < 1000) {
        text_i64(t, us);
        text_str(t, " us");
    } else if (ms < 10000) {
        text_i64(t, ms);
        text_str(t, " ms");
    } else {
        text_i64(t, (ms + 50) / 1000);
        text_char(t, '.');
        text_i64(t, (ms + 50) % 1000 / 100);
        text_str(t, " s");
    }
}

/* What the record is called: the user's label, else the event, a signal by the name people know it by. */
static void record_name(struct text *t, const struct record *r)
{
    static const char prefix[] = "signal:";

    if (r->label && *r->label) {
        text_printable(t, r->label, RECORD_STRING);
    } else if (r->event && strncmp(r->event, prefix, sizeof prefix - 1) == 0) {
        text_str(t, "SIG");
        text_printable(t, r->event + sizeof prefix - 1, RECORD_STRING);
    } else {
        text_printable(t, r->event && *r->event ? r->event : "event", RECORD_STRING);
    }
}

static void record_allocator_name(struct text *t, const struct record_allocator *a)
{
    text_printable(t, a->name, sizeof a->name);
    if (a->version[0]) {
        text_char(t, ' ');
        text_printable(t, a->version, sizeof a->version);
    }
}

/* The allocators that gave something back, and the calls that failed. */
static void record_credits(struct text *t, const struct record *r)
{
    for (unsigned i = 0; i < r->n_allocators; i++) {
        const struct record_allocator *a = &r->allocator[i];
        bool gave = a->returned_known && a->returned > 0;

        if (!a->error && !gave)
            continue;
        text_str(t, ", ");
        record_allocator_name(t, a);
        if (gave) {
            text_char(t, ' ');
            text_amount(t, a->returned);
        }
        if (a->error) {
            text_str(t, ": ");
            text_errno(t, a->error);
        }
        if (a->call[0]) {
            text_str(t, a->error ? " from " : " via ");
            text_printable(t, a->call, sizeof a->call);
        }
    }
}

/* RssAnon could not be read: what was called is all that is known. */
static void record_blind(struct text *t, const struct record *r)
{
    unsigned calls = 0;

    text_str(t, r->n_allocators ? "released" : "found nothing to call");
    text_str(t, " (RssAnon unreadable");
    if (r->unreadable) {
        text_str(t, ": ");
        text_errno(t, r->unreadable);
    }
    text_char(t, ')');
    for (unsigned i = 0; i < r->n_allocators; i++) {
        const struct record_allocator *a = &r->allocator[i];
        if (a->error)
            continue;
        text_str(t, calls++ ? ", " : " via ");
        text_printable(t, a->call[0] ? a->call : a->name, sizeof a->call);
    }
    text_str(t, " in ");
    record_duration(t, r->ns);
}

static void record_result(struct text *t, const struct record *r)
{
    int64_t before = r->before.anon, after = r->after.anon, credited = 0;

    for (unsigned i = 0; i < r->n_allocators; i++)
        if (r->allocator[i].returned_known && r->allocator[i].returned > 0)
            credited += r->allocator[i].returned;
    if (before > after) {
        text_str(t, "gave back ");
        text_amount(t, before - after);
    } else if (credited >= RECORD_MIB || after - before >= RECORD_MIB) {
        text_str(t, "released");
    } else {
        text_str(t, "gave back nothing");
    }
    text_str(t, " in ");
    record_duration(t, r->ns);
    text_str(t, ", RssAnon ");
    if (after - before >= RECORD_MIB) {
        text_str(t, "grew ");
        text_amount(t, after - before);
        text_str(t, " meanwhile, ");
    }
    record_levels(t, before, after, r->uncertain);
}

static void record_mark(struct text *t, const struct record *r)
{
    const struct procfs_memory *m = record_known(r->before.anon) ? &r->before : &r->after;
    const struct {
        const char *name;
        int64_t figure;
    } figures[] = {{", RssAnon ", m->anon}, {", RssFile ", m->file}, {", RssShmem ", m->shmem}, {", VmSwap ", m->swap}};

    text_str(t, "mark");
    if (!record_known(m->anon)) {
        text_str(t, " (RssAnon unreadable");
        if (r->unreadable) {
            text_str(t, ": ");
            text_errno(t, r->unreadable);
        }
        text_char(t, ')');
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (record_known(figures[i].figure)) {
            text_str(t, figures[i].name);
            text_amount(t, figures[i].figure);
        }
}

static void record_count(struct text *t, unsigned n, const char *one, const char *many)
{
    if (!n)
        return;
    text_str(t, ", ");
    text_u64(t, n);
    text_str(t, n == 1 ? one : many);
}

size_t record_text(const struct record *r, char *buffer, size_t size)
{
    struct text t;

    if (size < 2)
        return 0;
    text_init(&t, buffer, size - 1);
    text_str(&t, "giveback[");
    text_i64(&t, r->pid);
    text_str(&t, "]: ");
    record_name(&t, r);
    text_str(&t, ": ");
    if (r->action == RECORD_MARK) {
        record_mark(&t, r);
    } else if (r->unreadable || !record_known(r->before.anon) || !record_known(r->after.anon)) {
        record_blind(&t, r);
        record_credits(&t, r);
    } else {
        record_result(&t, r);
        record_credits(&t, r);
    }
    record_count(&t, r->merged, " event merged", " events merged");
    record_count(&t, r->lost, " earlier record lost", " earlier records lost");
    if (r->reason) {
        text_str(&t, ": ");
        text_printable(&t, r->reason, RECORD_REASON);
    }
    t.size = size;
    text_char(&t, '\n');
    return t.len;
}

static void record_error(struct text *t, const char *key, int error)
{
    json_add_key(t, key);
    if (!error) {
        text_str(t, "null");
        return;
    }
    text_char(t, '"');
    text_errno(t, error);
    text_char(t, '"');
}

static void record_memory(struct text *t, const char *key, const struct procfs_memory *m)
{
    const struct {
        const char *name;
        int64_t figure;
    } figures[] = {{"anon", m->anon},     {"file", m->file},         {"shmem", m->shmem},
                   {"swap", m->swap},     {"lazyfree", m->lazyfree}, {"hugepages", m->hugepages},
                   {"locked", m->locked}, {"pss_anon", m->pss_anon}};

    json_add_key(t, key);
    text_char(t, '{');
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        json_add_number(t, figures[i].name, figures[i].figure, record_known(figures[i].figure));
    text_char(t, '}');
}

/* RFC 3339 in UTC. By our own arithmetic, since gmtime takes a lock and reads the time zone. Years begin in March
 * here, so that the day that only leap years have is the last of one. */
static void record_time(struct text *t, int64_t time_ms)
{
    int64_t ms = ((time_ms % 86400000) + 86400000) % 86400000;
    int64_t day = (time_ms - ms) / 86400000 + 719468; /* since 0000-03-01 */
    int64_t era = day / 146097, of_era = day - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0 is March; 153 days are five months from March or August on */
    const struct {
        int64_t value;
        unsigned width;
        char end;
    } fields[] = {{year + era * 400 + (month >= 10), 4, '-'},
                  {month < 10 ? month + 3 : month - 9, 2, '-'},
                  {of_year - (153 * month + 2) / 5 + 1, 2, 'T'},
                  {ms / 3600000, 2, ':'},
                  {ms / 60000 % 60, 2, ':'},
                  {ms / 1000 % 60, 2, '.'},
                  {ms % 1000, 3, 'Z'}};

    text_char(t, '"');
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        text_pad(t, (uint64_t)fields[i].value, fields[i].width);
        text_char(t, fields[i].end);
    }
    text_char(t, '"');
}

static void record_json_allocator(struct text *t, const struct record_allocator *a)
{
    text_char(t, '{');
    json_add_string(t, "name", a->name, RECORD_PROGRAM);
    json_add_string(t, "version", a->version[0] ? a->version : NULL, RECORD_PROGRAM);
    json_add_string(t, "object", a->object[0] ? a->object : NULL, RECORD_STRING);
    json_add_string(t, "call", a->call[0] ? a->call : NULL, RECORD_STRING);
    json_add_number(t, "returned", a->returned, a->returned_known);
    json_add_number(t, "held_before", a->held_before, record_known(a->held_before));
    json_add_number(t, "held_after", a->held_after, record_known(a->held_after));
    json_add_number(t, "live", a->live, record_known(a->live));
    record_error(t, "error", a->error);
    text_char(t, '}');
}

/* As many whole allocators as fit in front of the tail. */
static void record_json_allocators(struct text *t, const struct record *r)
{
    size_t whole = t->size;

    json_add_key(t, "allocators");
    text_char(t, '[');
    t->size = whole - RECORD_TAIL - (r->reason ? RECORD_REASON : 0);
    for (unsigned i = 0; i < r->n_allocators && !t->cut; i++) {
        size_t before = t->len;
        if (i)
            text_char(t, ',');
        record_json_allocator(t, &r->allocator[i]);
        if (t->cut)
            t->at[t->len = before] = '\0';
    }
    t->size = whole;
    t->cut = false;
    text_char(t, ']');
}

size_t record_json(const struct record *r, char *buffer, size_t size)
{
    bool known = record_known(r->before.anon) && record_known(r->after.anon);
    struct text t;

    if (size < RECORD_MAX)
        return 0;
    text_init(&t, buffer, RECORD_MAX);
    text_str(&t, "{\"v\":1");
    json_add_key(&t, "time");
    record_time(&t, r->time_ms);
    json_add_number(&t, "pid", r->pid, true);
    json_add_string(&t, "program", r->program, RECORD_PROGRAM);
    json_add_string(&t, "event", r->event, RECORD_STRING);
    json_add_string(&t, "label", r->label, RECORD_STRING);
    json_add_string(&t, "action", event_action_name(r->action), RECORD_STRING);
    record_memory(&t, "before", &r->before);
    record_memory(&t, "after", &r->after);
    json_add_number(&t, "returned", r->before.anon - r->after.anon, known);
    json_add_key(&t, "seconds");
    text_seconds(&t, r->ns);
    json_add_key(&t, "stall");
    record_known(r->stall_ns) ? text_seconds(&t, r->stall_ns) : text_str(&t, "null");
    json_add_number(&t, "merged", r->merged, true);
    json_add_number(&t, "came_back", r->came_back, record_known(r->came_back));
    json_add_number(&t, "faults", r->faults, record_known(r->faults));
    t.cut = false; /* strings that were shortened are whole strings still */
    record_json_allocators(&t, r);
    json_add_string(&t, "reason", r->reason, RECORD_REASON);
    json_add_number(&t, "uncertain", r->uncertain, record_known(r->uncertain));
    json_add_number(&t, "lost", r->lost, true);
    record_error(&t, "unreadable", r->unreadable);
    text_str(&t, "}\n");
    return t.len;
}
