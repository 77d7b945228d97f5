#include "policy.h"

#include "options.h"
#include "pace.h"
#include "record.h"

static int64_t policy_interval;
static struct pace policy_pace;

void policy_configure(const struct settings *s)
{
    policy_interval = s->interval;
}

void policy_open(bool first)
{
    if (first)
        pace_start(&policy_pace, policy_interval);
}

int64_t policy_due(void)
{
    return policy_pace.due;
}

bool policy_ready(int64_t now)
{
    return now >= policy_pace.due;
}

unsigned policy_factor(void)
{
    return policy_pace.factor;
}

bool policy_acted(const struct record *r, bool automatic, int64_t now)
{
    if (r->action != RECORD_RELEASE)
        return true;
    pace_acted(&policy_pace, r->before.anon, r->after.anon, automatic, now);
    return !automatic || r->unreadable || r->before.anon - r->after.anon >= PACE_LITTLE;
}
