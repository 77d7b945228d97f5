#include "policy.h"
#include "watch.h"

static void event_every_open(struct watch *w, int64_t now, bool first)
{
    if (first)
        w->due = now + w->event->amount;
}

static void event_every_look(struct watch *w, int64_t now, short ready)
{
    (void)ready;
    watch_fire(w);
    if (__builtin_mul_overflow(w->event->amount, policy_factor(), &w->due) || __builtin_add_overflow(w->due, now, &w->due))
        w->due = WATCH_NEVER;
}

const struct watch_kind event_every = {.open = event_every_open, .look = event_every_look};
