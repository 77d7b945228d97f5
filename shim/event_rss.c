#include "procfs.h"
#include "sample.h"
#include "watch.h"

/* What a forked child has from its parent is no rise. */
static void event_rss_open(struct watch *w, int64_t now, bool first)
{
    if (first)
        w->fired = sample_inherited() >= w->event->amount;
    w->due = sample_next(now);
}

/* Only falling by a tenth below it makes the next rise count. */
static void event_rss_look(struct watch *w, int64_t now, short ready)
{
    int64_t anon = sample_at(now)->anon, size = w->event->amount;

    (void)ready;
    if (!w->fired && anon >= size)
        watch_fire(w);
    if (anon != PROCFS_UNKNOWN)
        w->fired = anon >= (w->fired ? size - size / 10 : size);
    w->due = sample_next(now);
}

const struct watch_kind event_rss = {.open = event_rss_open, .look = event_rss_look};
