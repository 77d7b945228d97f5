#include "mapping.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "entry.h"
#include "post.h"
#include "signal.h"
#include "sys.h"

enum mapping_way { MAPPING_MAPPED, MAPPING_UNMAPPED };

/* All of it runs on host threads, inside allocators too: memory is read and atomically written, and only where an event is
 * reached anything is asked of the kernel. */
static struct {
    const struct event *events;
    uint8_t event[2][EVENT_MAX]; /* of each way, as post counts them */
    uint8_t n_events[2];
    uint64_t total[2];
    uintptr_t end;  /* of the heap that brk moves */
    uintptr_t page; /* its size - 1 */
} mapping;

static struct {
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, void *);
    int (*brk)(void *);
} mapping_real;

/* The total has come to where this event is due, or nobody has said yet where that is: at the start, in a forked child, and
 * after a release (post_rearm). */
static void mapping_reach(unsigned event, uint64_t total, uint64_t bytes)
{
    const struct event *e = &mapping.events[event - 1];
    struct post *p = post_own();
    uint64_t due = 0, first = total - bytes + (uint64_t)e->amount;

    if (!p)
        return;
    if (__atomic_compare_exchange_n(&p->due[event], &due, first, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        due = first;
    if (total < due)
        return;
    /* One of the threads that come here at once. A release says when it is due again. */
    if (__atomic_compare_exchange_n(&p->due[event], &due, e->action == RECORD_MARK ? total + (uint64_t)e->amount : UINT64_MAX,
                                    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        signal_post(event);
}

static void mapping_count(enum mapping_way way, size_t bytes)
{
    const struct post *p = post_look();
    uint64_t total;

    if (!bytes || post_is_own_thread(p))
        return;
    bytes = (bytes + mapping.page) & ~mapping.page;
    total = __atomic_add_fetch(&mapping.total[way], bytes, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < mapping.n_events[way]; i++)
        if (__builtin_expect(total >= __atomic_load_n(&p->due[mapping.event[way][i]], __ATOMIC_RELAXED), 0))
            mapping_reach(mapping.event[way][i], total, bytes);
}

static void mapping_count_change(size_t before, size_t after)
{
    mapping_count(MAPPING_MAPPED, after > before ? after - before : 0);
    mapping_count(MAPPING_UNMAPPED, before > after ? before - after : 0);
}

static void *mapping_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    void *r = mapping_real.mmap(at, n, protection, flags, fd, offset);

    if (r != MAP_FAILED)
        mapping_count(MAPPING_MAPPED, n);
    return r;
}

static int mapping_munmap(void *at, size_t n)
{
    int r = mapping_real.munmap(at, n);

    if (r == 0)
        mapping_count(MAPPING_UNMAPPED, n);
    return r;
}

/* libc's takes its fifth argument only with MREMAP_FIXED. */
static void *mapping_mremap(void *at, size_t before, size_t after, int flags, void *to)
{
    void *r = mapping_real.mremap(at, before, after, flags, to);

    if (r != MAP_FAILED)
        mapping_count_change((before + mapping.page) & ~mapping.page, (after + mapping.page) & ~mapping.page);
    return r;
}

static int mapping_brk(void *end)
{
    int r = mapping_real.brk(end);

    if (r == 0 && end) /* without an end it only asks: libc's first call */
        mapping_count_change(__atomic_exchange_n(&mapping.end, (uintptr_t)end, __ATOMIC_RELAXED), (uintptr_t)end);
    return r;
}

#define MAPPING_ENTRY(name) {#name, (const void *)(uintptr_t)mapping_##name, (const void **)&mapping_real.name}
static const struct entry mapping_entries[] = {
    MAPPING_ENTRY(mmap), MAPPING_ENTRY(munmap), MAPPING_ENTRY(mremap), MAPPING_ENTRY(brk), /* which sbrk calls */
};

void mapping_start(const struct event *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum mapping_way way = events[i].kind == EVENT_MMAP ? MAPPING_MAPPED : MAPPING_UNMAPPED;

        if (events[i].kind == EVENT_MMAP || events[i].kind == EVENT_MUNMAP)
            mapping.event[way][mapping.n_events[way]++] = (uint8_t)(i + 1);
    }
    if (!mapping.n_events[MAPPING_MAPPED] && !mapping.n_events[MAPPING_UNMAPPED])
        return;
    mapping.events = events;
    mapping.page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    mapping.end = (uintptr_t)sys1(SYS_brk, 0);
    entry_replace(mapping_entries, sizeof mapping_entries / sizeof *mapping_entries, "mmap: and munmap:");
}
