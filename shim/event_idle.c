#include "policy.h"
#include "sample.h"
#include "watch.h"

static void event_idle_open(struct watch *w, int64_t now, bool first)
{
    (void)first;
    w->due = sample_next(now);
}

/* Once in a spell: only work ends it, which sets the quiet back to nothing. */
static void event_idle_look(struct watch *w, int64_t now, short ready)
{
    int64_t quiet = sample_at(now)->quiet, moment = now - quiet + w->event->amount;

    (void)ready;
    if (now < moment)
        w->fired = false;
    else if (!w->fired && policy_ready(now)) {
        w->fired = true;
        watch_fire(w);
    }
    w->due = sample_next(now);
    if (moment > now && moment < w->due)
        w->due = moment;
}

const struct watch_kind event_idle = {.open = event_idle_open, .look = event_idle_look};
