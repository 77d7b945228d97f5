#include "reason.h"

#include <stdbool.h>

#include "text.h"

/* What the allocators say of themselves, added up. PROCFS_UNKNOWN: none of them says it. */
struct reason_sum {
    int64_t held, live;
    bool all_tell;    /* every one that could be asked says what it holds */
    unsigned failed;  /* calls that failed */
    int64_t credited; /* what came back at single calls, growth elsewhere left out */
};

static void reason_add(int64_t *sum, int64_t figure)
{
    if (figure < 0) /* unknown, or an allocator whose books do not add up */
        return;
    if (*sum == PROCFS_UNKNOWN)
        *sum = 0;
    if (__builtin_add_overflow(*sum, figure, sum))
        *sum = PROCFS_UNKNOWN;
}

static struct reason_sum reason_sum(const struct record *r)
{
    struct reason_sum sum = {PROCFS_UNKNOWN, PROCFS_UNKNOWN, r->n_allocators > 0, 0, 0};

    for (unsigned i = 0; i < r->n_allocators; i++) {
        const struct record_allocator *a = &r->allocator[i];
        int64_t held = a->held_after != PROCFS_UNKNOWN ? a->held_after : a->held_before;
        reason_add(&sum.held, held);
        reason_add(&sum.live, a->live);
        sum.all_tell &= held >= 0 || a->error;
        sum.failed += a->error != 0;
        if (a->returned_known && a->returned > 0)
            reason_add(&sum.credited, a->returned);
    }
    /* Free is not resident: glibc's figure stays what it was when a trim has returned the pages. What is not live is
     * the most that can be resident of it; where more is live than resident, that says nothing. */
    if (sum.live != PROCFS_UNKNOWN && sum.live <= r->after.anon && sum.held > r->after.anon - sum.live)
        sum.held = r->after.anon - sum.live;
    return sum;
}

/* Is `part` at least that share of the whole, both known? In hundredths, without overflow. */
static bool reason_share(int64_t part, int64_t whole, int64_t hundredths)
{
    return part > 0 && whole > 0 && part / hundredths >= whole / 100;
}

/* Locked pages cannot be returned (madvise says EINVAL). VmLck is what the program locked, not what stands in the
 * way, so it counts only where it covers most of what is resident or all that is still held. */
static bool reason_is_locked(const struct record *r, const struct reason_sum *sum)
{
    return r->after.locked >= REASON_NOTHING && (reason_share(r->after.locked, r->after.anon, 50) ||
                                                 (sum->held >= REASON_NOTHING && r->after.locked >= sum->held));
}

/* MADV_FREE pages count in RssAnon until the kernel needs memory; not the reason where much more is held otherwise. */
static bool reason_is_lazy(const struct record *r, const struct reason_sum *sum)
{
    return r->after.lazyfree >= REASON_NOTHING &&
           (sum->held < REASON_NOTHING || reason_share(r->after.lazyfree, sum->held, 50));
}

/* Nothing held: every allocator says so, or what is live is nearly all that is resident. */
static bool reason_is_live(const struct record *r, const struct reason_sum *sum)
{
    return sum->held < REASON_NOTHING && (sum->all_tell || reason_share(sum->live, r->after.anon, 90));
}

static void reason_live(struct text *t, const struct record *r, const struct reason_sum *sum)
{
    text_str(t, "nothing is held");
    if (sum->live == PROCFS_UNKNOWN || sum->live > r->after.anon)
        return;
    text_str(t, ", ");
    text_amount(t, sum->live);
    text_str(t, " of ");
    text_amount(t, r->after.anon);
    text_str(t, " is live");
}

/* Something is held, or nobody says how much, and it did not come back. false: no evidence. */
static bool reason_held(struct text *t, const struct record *r, const struct reason_sum *sum, int owner_only)
{
    bool held = sum->held >= REASON_NOTHING;

    if (held) {
        /* glibc counts pages that went back long ago, so the figure is a bound. */
        text_str(t, "up to ");
        text_amount(t, sum->held);
        text_str(t, owner_only ? " is held in caches that only their own threads can empty"
                               : " is held, but no whole page of it can be returned");
        return true;
    }
    if (sum->failed)
        return false;
    /* Somebody does not tell. The calls went well and nothing came, which does not say that nothing is free: TBB with one
     * block in a hundred live returned none of 785 MiB. */
    text_str(t, owner_only ? "what is held, if anything, lies in caches that only their own threads can empty"
                           : "not every allocator says what it holds, and no page of it came back");
    return r->n_allocators > 0;
}

const char *reason_find(const struct record *r, int owner_only, const char *unreachable, char *buffer, size_t size)
{
    const struct reason_sum sum = reason_sum(r);
    struct text t;

    if (r->action != RECORD_RELEASE || r->before.anon == PROCFS_UNKNOWN || r->after.anon == PROCFS_UNKNOWN ||
        r->before.anon - r->after.anon >= REASON_NOTHING || sum.credited >= REASON_NOTHING)
        return NULL;
    text_init(&t, buffer, size);
    if (unreachable) {
        text_str(&t, "malloc belongs to ");
        text_printable(&t, unreachable, 64);
        text_str(&t, ", an allocator that cannot be reached");
    } else if (!r->n_allocators) {
        text_str(&t, "no allocator was found that can be asked");
    } else if (sum.failed == r->n_allocators) {
        text_str(&t, "every call failed");
    } else if (reason_is_lazy(r, &sum)) {
        text_amount(&t, r->after.lazyfree);
        text_str(&t, " is lazily freed (LazyFree): it counts until the kernel needs it");
    } else if (reason_is_live(r, &sum)) {
        reason_live(&t, r, &sum);
    } else if (reason_is_locked(r, &sum)) {
        text_amount(&t, r->after.locked);
        text_str(&t, " is locked (VmLck): locked pages cannot be returned");
    } else if (!reason_held(&t, r, &sum, owner_only)) {
        return NULL;
    }
    return buffer;
}
