#include "pace.h"

void pace_start(struct pace *p, int64_t interval)
{
    *p = (struct pace){.interval = interval, .factor = 1, .after = -1};
}

bool pace_grown(int64_t base, int64_t anon)
{
    return anon - base >= PACE_GROWN && anon - base >= base / 10;
}

/* More than can have come back: the process has found something new to do. */
static bool pace_is_growth(int64_t grown, int64_t returned)
{
    return grown >= 2 * returned + PACE_GROWN;
}

static void pace_slower(struct pace *p)
{
    if (p->factor < PACE_MOST)
        p->factor *= 2;
}

static void pace_judge(struct pace *p, int64_t grown)
{
    if (pace_is_growth(grown, p->returned))
        p->factor = 1;
    else if (p->returned >= PACE_LITTLE && grown >= p->returned / 2)
        pace_slower(p);
    else if (p->returned >= PACE_LITTLE && grown < p->returned / 4 && p->factor > 1)
        p->factor /= 2;
}

void pace_acted(struct pace *p, int64_t before, int64_t after, bool automatic, int64_t now)
{
    if (before >= 0 && p->after >= 0)
        pace_judge(p, before - p->after);
    p->after = before >= 0 ? after : -1;
    p->returned = before >= 0 && after >= 0 && before > after ? before - after : 0;
    if (!automatic)
        return;
    if (before >= 0 && after >= 0 && before - after < PACE_LITTLE)
        pace_slower(p);
    p->due = now + p->interval * p->factor;
}

/* Growth well beyond what went back is a new phase, and treated as the first: a load that paused for a while (a download, a
 * machine that left it no processor) has met the first release too early. */
int64_t pace_settle_quiet(const struct pace_settle *s, int64_t anon, int64_t wanted)
{
    bool first = !s->again || pace_is_growth(anon - s->base, s->returned);

    return first || wanted >= PACE_SETTLED_NS ? wanted : PACE_SETTLED_NS;
}

enum pace_verdict pace_settle_look(struct pace_settle *s, int64_t anon, int64_t quiet, int64_t wanted)
{
    int64_t grown = anon - s->base;

    if (anon < 0 || quiet < pace_settle_quiet(s, anon, wanted) || !pace_grown(s->base, anon))
        return PACE_WAIT;
    if (!s->again || pace_is_growth(grown, s->returned)) {
        s->stopped = false;
        return PACE_RELEASE;
    }
    if (s->stopped)
        return PACE_WAIT;
    s->stopped = grown >= s->returned / 2;
    return s->stopped ? PACE_STOP : PACE_RELEASE;
}

void pace_settle_acted(struct pace_settle *s, int64_t before, int64_t after, bool own)
{
    if (after >= 0)
        s->base = after;
    if (!own)
        return;
    s->again = true;
    s->returned = before > after && after >= 0 ? before - after : 0;
}
