#include "control.h"
#include "json.h"
#include "memory.h"
#include "policy.h"
#include "post.h"
#include "release.h"
#include "sys.h"

#define STATUS_NAME 256 /* longest form of a name in it */

static void status_event(struct text *t, const char *name, const char *label, enum record_action action, bool told, unsigned count)
{
    text_str(t, t->at[t->len - 1] == '[' ? "{" : ",{");
    json_add_string(t, "event", name, STATUS_NAME);
    json_add_string(t, "label", label, STATUS_NAME);
    json_add_string(t, "action", told ? NULL : event_action_name(action), STATUS_NAME);
    json_add_number(t, "count", count, true);
    text_char(t, '}');
}

static void status_events(struct text *t)
{
    const struct watch_host *h = watch_of();
    unsigned count;

    json_add_key(t, "events");
    text_char(t, '[');
    count = __atomic_load_n(&h->post->asked[POST_SIGNAL], __ATOMIC_SEQ_CST);
    status_event(t, h->signal, NULL, RECORD_RELEASE, false, count);
    for (size_t i = 0; i < h->n_events; i++) {
        const struct event *e = &h->events[i];

        count = __atomic_load_n(&h->post->asked[i + 1], __ATOMIC_SEQ_CST);
        status_event(t, e->name, e->label[0] ? e->label : NULL, e->action, e->kind == EVENT_SOCKET, count);
    }
    text_char(t, ']');
}

static void status_allocators(struct text *t)
{
    static struct record r; /* for its allocators; there is one worker, and its stack is small */

    r.pid = watch_of()->post->pid;
    release_survey(&r);
    json_add_key(t, "allocators");
    text_char(t, '[');
    for (unsigned i = 0; i < r.n_allocators; i++) {
        const struct record_allocator *a = &r.allocator[i];

        text_str(t, i ? ",{" : "{");
        json_add_string(t, "name", a->name, STATUS_NAME);
        json_add_string(t, "version", a->version[0] ? a->version : NULL, STATUS_NAME);
        json_add_string(t, "object", a->object, STATUS_NAME);
        json_add_number(t, "held", a->held_after, a->held_after != PROCFS_UNKNOWN);
        json_add_number(t, "live", a->live, a->live != PROCFS_UNKNOWN);
        text_char(t, '}');
    }
    text_char(t, ']');
}

/* Seconds until an automatic event may be carried out. */
static void status_due(struct text *t)
{
    int64_t left = policy_due() - sys_clock(CLOCK_MONOTONIC);

    json_add_key(t, "due");
    if (policy_is_paused())
        text_str(t, "null");
    else
        text_seconds(t, left > 0 ? left : 0);
}

void control_status(struct text *t, const char *last)
{
    const struct watch_host *h = watch_of();
    const struct policy_counts *counts = policy_count();
    int64_t anon = memory_anon();

    text_str(t, "{\"v\":1");
    json_add_number(t, "pid", h->post->pid, true);
    json_add_string(t, "program", h->program, STATUS_NAME);
    json_add_string(t, "version", GIVEBACK_VERSION, STATUS_NAME);
    json_add_number(t, "anon", anon, anon != PROCFS_UNKNOWN);
    json_add_bool(t, "paused", policy_is_paused());
    json_add_number(t, "backoff", policy_factor(), true);
    status_due(t);
    json_add_number(t, "releases", (int64_t)counts->releases, true);
    json_add_number(t, "marks", (int64_t)counts->marks, true);
    json_add_number(t, "merged", (int64_t)counts->merged, true);
    json_add_number(t, "unlogged", (int64_t)counts->unlogged, true);
    status_events(t);
    status_allocators(t);
    json_add_key(t, "last");
    text_str(t, last[0] ? last : "null");
    text_str(t, "}\n");
}
