#include "policy.h"

#include "options.h"
#include "pace.h"
#include "record.h"

static int64_t policy_interval;
static struct pace policy_pace;
static bool policy_paused;
static struct policy_counts policy_counts;

void policy_configure(const struct settings *s)
{
    policy_interval = s->interval;
}

void policy_open(bool first)
{
    if (!first)
        return;
    pace_start(&policy_pace, policy_interval);
    policy_paused = false;
    policy_counts = (struct policy_counts){0};
}

int64_t policy_due(void)
{
    return policy_paused ? INT64_MAX : policy_pace.due;
}

bool policy_ready(int64_t now)
{
    return now >= policy_due();
}

unsigned policy_factor(void)
{
    return policy_pace.factor;
}

void policy_pause(bool paused)
{
    policy_paused = paused;
}

bool policy_is_paused(void)
{
    return policy_paused;
}

const struct policy_counts *policy_count(void)
{
    return &policy_counts;
}

bool policy_acted(const struct record *r, bool automatic, int64_t now)
{
    policy_counts.merged += r->merged;
    if (r->action != RECORD_RELEASE) {
        policy_counts.marks++;
        return true;
    }
    policy_counts.releases++;
    pace_acted(&policy_pace, r->before.anon, r->after.anon, automatic, now);
    if (!automatic || r->unreadable || r->before.anon - r->after.anon >= PACE_LITTLE)
        return true;
    policy_counts.unlogged++;
    return false;
}
