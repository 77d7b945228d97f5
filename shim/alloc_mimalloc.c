/* mimalloc 1, 2 and 3, under any prefix. mi_collect(true) empties the heap of the thread that calls, what ended threads have
 * left, and the arenas' free ranges; what other threads' heaps hold only those threads can return. */
#include "alloc.h"

#include "text.h"

enum { MI_COLLECT, MI_VERSION, MI_THREAD_INIT, MI_PROCESS_INFO };

/* mi_process_info tells how much this copy has committed, in all threads, which is the most that it can hold. Measured
 * for a copy that is loaded and not used: 2.0.9: 0; 3.4.3: 2.25 MiB, its page map. Below this bound nothing is worth a
 * heap of our own. It allocates nothing. */
#define MI_UNUSED (INT64_C(4) << 20)

static bool mi_used(const struct alloc_copy *c)
{
    size_t elapsed, user, system, rss, peak_rss, commit, peak_commit, faults;

    if (!c->at[MI_PROCESS_INFO])
        return true;
    ((void (*)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *))c->at[MI_PROCESS_INFO])(
        &elapsed, &user, &system, &rss, &peak_rss, &commit, &peak_commit, &faults);
    return (int64_t)commit > MI_UNUSED;
}

/* 209 is 2.0.9; since 3.4 two digits each: 30403 is 3.4.3 */
static void mi_version(const struct alloc_copy *c, char *text, size_t size)
{
    struct text t;

    text_init(&t, text, size);
    if (!c->at[MI_VERSION])
        return;
    int version = ((int (*)(void))c->at[MI_VERSION])(), base = version < 1000 ? 10 : 100;
    text_i64(&t, version / base / base);
    text_char(&t, '.');
    text_i64(&t, version / base % base);
    text_char(&t, '.');
    text_i64(&t, version % base);
}

static void mi_flush(const struct alloc_copy *c)
{
    ((void (*)(bool))c->at[MI_COLLECT])(true);
}

/* On a thread that has no heap yet mi_collect does nothing; ours has one only if it ever called malloc. */
static int mi_step(struct alloc_copy *c, unsigned n)
{
    (void)n;
    if (c->at[MI_THREAD_INIT])
        ((void (*)(void))c->at[MI_THREAD_INIT])();
    ((void (*)(bool))c->at[MI_COLLECT])(true);
    return ALLOC_DONE;
}

const struct alloc_kind alloc_mimalloc = {
    .name = "mimalloc",
    .symbols = {"mi_collect", "mi_version", "mi_thread_init", "mi_process_info"},
    .siblings = 1,
    .used = mi_used,
    .version = mi_version,
    .owner_only = true,
    .flush = mi_flush,
    .step = mi_step,
};
