#include "notice.h"
#include "policy.h"
#include "procfs.h"
#include "record.h"
#include "sample.h"
#include "watch.h"

static int64_t event_settle_time(const struct watch *w)
{
    return w->event->amount ? w->event->amount : PACE_SETTLE_NS;
}

static void event_settle_open(struct watch *w, int64_t now, bool first)
{
    if (first && sample_inherited() != PROCFS_UNKNOWN)
        w->settle.base = sample_inherited();
    w->due = sample_next(now);
}

static void event_settle_look(struct watch *w, int64_t now, short ready)
{
    const struct sample *s = sample_at(now);
    int64_t moment = now - s->quiet + pace_settle_quiet(&w->settle, s->anon, event_settle_time(w));

    (void)ready;
    if (policy_ready(now))
        switch (pace_settle_look(&w->settle, s->anon, s->quiet, event_settle_time(w))) {
        case PACE_RELEASE: watch_fire(w); break;
        case PACE_STOP:
            notice_worker("settle: half of what it gave back has come back, so it stops; it goes on when the process grows well beyond that");
            break;
        case PACE_WAIT: break;
        }
    w->due = sample_next(now);
    if (moment > now && moment < w->due)
        w->due = moment;
}

static void event_settle_acted(struct watch *w, const struct record *r, bool own)
{
    pace_settle_acted(&w->settle, r->before.anon, r->after.anon, own);
}

const struct watch_kind event_settle = {.open = event_settle_open, .look = event_settle_look, .acted = event_settle_acted};
