#include "release.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "gate.h"
#include "memory.h"
#include "object.h"
#include "options.h"
#include "reason.h"
#include "sys.h"
#include "text.h"

enum { RELEASE_SENTENCE = 256, RELEASE_MOMENT_NS = 10000000 };

/* What the last release of this process left behind. */
static struct {
    int pid; /* 0: there was none */
    int64_t anon, returned, faults;
} release_last;

static bool release_full_detail;
static char release_reason[RELEASE_SENTENCE];

void release_configure(const struct settings *s)
{
    release_full_detail = s->full_detail;
    alloc_call_configure(s->call);
    object_start();
}

/* What came back since: pages that were returned and are resident again. More than was returned is growth. */
static void release_look_back(struct record *r)
{
    int64_t faults = memory_faults();

    r->came_back = PROCFS_UNKNOWN;
    r->faults = PROCFS_UNKNOWN;
    if (release_last.pid == r->pid && release_last.anon != PROCFS_UNKNOWN && r->before.anon != PROCFS_UNKNOWN) {
        int64_t grown = r->before.anon - release_last.anon;
        if (grown > release_last.returned)
            grown = release_last.returned;
        r->came_back = grown > 0 ? grown : 0;
        if (faults != PROCFS_UNKNOWN && release_last.faults != PROCFS_UNKNOWN)
            r->faults = faults - release_last.faults;
    }
}

static void release_keep(const struct record *r)
{
    release_last.pid = r->pid;
    release_last.anon = r->after.anon;
    release_last.returned = 0;
    if (r->before.anon != PROCFS_UNKNOWN && r->after.anon != PROCFS_UNKNOWN && r->before.anon > r->after.anon)
        release_last.returned = r->before.anon - r->after.anon;
    release_last.faults = memory_faults();
}

static int64_t release_uncertain(int64_t threads)
{
    struct utsname u;

    if (sys1(SYS_uname, &u) != 0)
        return PROCFS_UNKNOWN;
    return procfs_uncertain(u.release, (int)sysconf(_SC_NPROCESSORS_ONLN), threads, sysconf(_SC_PAGESIZE));
}

static struct alloc_figures release_figures(const struct alloc_copy *c)
{
    struct alloc_figures f = {PROCFS_UNKNOWN, PROCFS_UNKNOWN, PROCFS_UNKNOWN};

    if (c->kind->figures && gate_enter()) {
        c->kind->figures(c, &f);
        gate_leave();
    }
    return f;
}

static void release_describe(struct record_allocator *a, const struct alloc_copy *c)
{
    struct text t;

    memset(a, 0, sizeof *a);
    text_init(&t, a->name, sizeof a->name);
    text_str(&t, c->kind == &alloc_call ? c->symbol : c->kind->name);
    text_init(&t, a->object, sizeof a->object);
    text_str(&t, c->object);
    text_init(&t, a->call, sizeof a->call);
    text_str(&t, c->object);
    text_char(&t, ':');
    text_str(&t, c->symbol);
    if (c->kind->version)
        c->kind->version(c, a->version, sizeof a->version);
    a->held_before = a->held_after = a->live = PROCFS_UNKNOWN;
}

/* Every piece of one allocator's release, between gate_enter and gate_leave each. 0, the kind's -errno, or -ECANCELED
 * when the process is ending. The longest piece goes into *stall. */
static int release_pieces(struct alloc_copy *c, int64_t *stall)
{
    struct timespec moment = {0, RELEASE_MOMENT_NS};
    int more = ALLOC_MORE;

    for (unsigned n = 0; more > 0; n++) {
        if (more == ALLOC_LATER)
            sys2(SYS_nanosleep, &moment, NULL);
        if (!gate_enter())
            return -ECANCELED;
        int64_t start = sys_clock(CLOCK_MONOTONIC);
        more = c->kind->step(c, n);
        int64_t took = sys_clock(CLOCK_MONOTONIC) - start;
        gate_leave();
        if (took > *stall)
            *stall = took;
    }
    return more;
}

/* A forked child may have inherited the table of copies while it was being written. */
static void release_scan(int pid)
{
    static int scanned;

    if (scanned != pid)
        alloc_reset();
    scanned = pid;
    alloc_scan();
}

/* One copy, with its credit. false: the process is ending. */
static bool release_copy(struct record *r, struct alloc_copy *c, void (*flush)(struct alloc_copy *c), int *owner_only)
{
    struct record_allocator *a = &r->allocator[r->n_allocators];
    struct alloc_figures before = {PROCFS_UNKNOWN, PROCFS_UNKNOWN, PROCFS_UNKNOWN}, after = before;

    if (!alloc_ready(c))
        return true;
    if (!gate_enter())
        return false;
    release_describe(a, c);
    gate_leave();
    if (!c->kind->dear)
        before = release_figures(c);
    /* Initialised and never used (a static constructor's doing): what it could give is not worth a line. */
    if (before.held != PROCFS_UNKNOWN && before.live != PROCFS_UNKNOWN && before.held + before.live < REASON_NOTHING &&
        !alloc_serves_malloc(c))
        return true;
    int64_t start = memory_anon();
    flush(c);
    int error = release_pieces(c, &r->stall_ns);
    int64_t end = memory_anon();
    if (!c->kind->dear)
        after = release_figures(c);
    a->error = error < 0 ? -error : 0;
    a->returned_known = start != PROCFS_UNKNOWN && end != PROCFS_UNKNOWN;
    a->returned = a->returned_known ? start - end : PROCFS_UNKNOWN;
    a->held_before = before.held;
    a->held_after = after.held;
    a->live = after.live;
    *owner_only |= c->kind->owner_only || after.owned >= REASON_NOTHING;
    r->n_allocators++;
    return error != -ECANCELED;
}

/* A function of GIVEBACK_CALL that is nowhere: said in every record, since its library may come later. */
static void release_missing(struct record *r)
{
    const char *name;

    for (size_t i = 0; r->n_allocators < RECORD_ALLOCATORS && (name = alloc_call_missing(i)); i++) {
        struct record_allocator *a = &r->allocator[r->n_allocators++];
        struct text t;
        memset(a, 0, sizeof *a);
        text_init(&t, a->name, sizeof a->name);
        text_str(&t, name);
        text_init(&t, a->call, sizeof a->call);
        text_str(&t, name);
        a->error = ENOENT;
        a->returned = a->held_before = a->held_after = a->live = PROCFS_UNKNOWN;
    }
}

/* Did less come back than was to be expected: nothing, or less than half of what the allocators said they held? */
static bool release_disappoints(const struct record *r)
{
    int64_t held = 0, returned = r->before.anon - r->after.anon;

    if (r->before.anon == PROCFS_UNKNOWN || r->after.anon == PROCFS_UNKNOWN)
        return false;
    for (unsigned i = 0; i < r->n_allocators; i++)
        if (r->allocator[i].held_before != PROCFS_UNKNOWN)
            held += r->allocator[i].held_before;
    return returned < REASON_NOTHING || returned < held / 2;
}

/* Figures that stop every allocating thread while they are made: only when there is something to explain. */
static void release_ask_dear(struct record *r)
{
    struct alloc_copy *c;

    for (size_t i = 0; (c = alloc_at(i)); i++) {
        if (!c->kind->dear || !c->safe)
            continue;
        for (unsigned k = 0; k < r->n_allocators; k++) {
            struct record_allocator *a = &r->allocator[k];
            if (strcmp(a->name, c->kind->name) != 0 || strcmp(a->object, c->object) != 0)
                continue;
            struct alloc_figures f = release_figures(c);
            a->held_after = f.held;
            a->live = f.live;
        }
    }
}

/* The object behind malloc, when no known allocator accounts for most of what is resident: a library that only wraps
 * malloc stands there too, in front of one that we know. */
static const char *release_stranger(const struct record *r)
{
    const char *name = alloc_stranger();
    int64_t known = 0;

    for (unsigned i = 0; i < r->n_allocators; i++) {
        const struct record_allocator *a = &r->allocator[i];
        if (a->live != PROCFS_UNKNOWN)
            known += a->live;
        if (a->held_after != PROCFS_UNKNOWN)
            known += a->held_after;
    }
    return name && known < r->after.anon / 2 ? name : NULL;
}

static void release_all(struct record *r, void (*flush)(struct alloc_copy *c), int *owner_only)
{
    struct alloc_copy *c;

    release_scan(r->pid);
    for (size_t i = 0; r->n_allocators < RECORD_ALLOCATORS && (c = alloc_at(i)); i++)
        if (!release_copy(r, c, flush, owner_only))
            return;
    release_missing(r);
}

void release_survey(struct record *r)
{
    struct alloc_copy *c;

    r->n_allocators = 0;
    release_scan(r->pid);
    for (size_t i = 0; r->n_allocators < RECORD_ALLOCATORS && (c = alloc_at(i)); i++) {
        struct record_allocator *a = &r->allocator[r->n_allocators];

        if (c->kind == &alloc_call || !alloc_ready(c) || !gate_enter())
            continue;
        release_describe(a, c);
        gate_leave();
        struct alloc_figures f = {PROCFS_UNKNOWN, PROCFS_UNKNOWN, PROCFS_UNKNOWN};
        if (!c->kind->dear)
            f = release_figures(c);
        a->held_after = f.held;
        a->live = f.live;
        r->n_allocators++;
    }
}

void release_mark(struct record *r)
{
    int64_t start = sys_clock(CLOCK_MONOTONIC);

    r->unreadable = -memory_read(&r->before);
    r->after = r->before;
    release_look_back(r);
    r->stall_ns = PROCFS_UNKNOWN;
    r->uncertain = release_uncertain(r->after.threads);
    r->ns = sys_clock(CLOCK_MONOTONIC) - start;
}

void release_run(struct record *r, void (*flush)(struct alloc_copy *c))
{
    int64_t start = sys_clock(CLOCK_MONOTONIC);
    int owner_only = 0;

    r->n_allocators = 0;
    r->reason = NULL;
    r->stall_ns = 0;
    r->unreadable = -memory_read(&r->before);
    release_look_back(r);
    if (release_full_detail)
        memory_read_detail(&r->before);
    release_all(r, flush, &owner_only);
    int error = -memory_read(&r->after);
    if (!r->unreadable)
        r->unreadable = error;
    if (release_full_detail || release_disappoints(r)) {
        memory_read_detail(&r->after);
        release_ask_dear(r);
    }
    r->ns = sys_clock(CLOCK_MONOTONIC) - start;
    if (!r->n_allocators)
        r->stall_ns = PROCFS_UNKNOWN;
    r->uncertain = release_uncertain(r->after.threads);
    r->reason = reason_find(r, owner_only, release_stranger(r), release_reason, sizeof release_reason);
    release_keep(r);
}
