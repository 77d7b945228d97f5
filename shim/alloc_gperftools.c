/* gperftools (libtcmalloc, libtcmalloc_minimal, and copies of it). Builds differ in what they export, so each symbol is
 * looked up by itself. It exports no malloc_trim: that call would reach glibc and free nothing. */
#include "alloc.h"

#include "text.h"

enum { GPERF_RELEASE, GPERF_PROPERTY, GPERF_VERSION, GPERF_IDLE };

/* Its static constructor takes one growth of at least 1 MiB from the system and keeps 24 bytes of it live (measured with
 * 2.10, loaded and not used); a copy whose heap is no larger holds nothing that is worth a call. */
#define GPERF_FIRST_GROWTH (INT64_C(1) << 20)

static int64_t gperf_property(const struct alloc_copy *c, const char *name)
{
    size_t value;

    if (!c->at[GPERF_PROPERTY] || !((int (*)(const char *, size_t *))c->at[GPERF_PROPERTY])(name, &value))
        return PROCFS_UNKNOWN;
    return (int64_t)value;
}

static bool gperf_used(const struct alloc_copy *c)
{
    int64_t heap = gperf_property(c, "generic.heap_size");

    return heap == PROCFS_UNKNOWN || heap > GPERF_FIRST_GROWTH;
}

static void gperf_version(const struct alloc_copy *c, char *text, size_t size)
{
    int major, minor;
    const char *patch;
    struct text t;

    text_init(&t, text, size);
    if (!c->at[GPERF_VERSION])
        return;
    ((const char *(*)(int *, int *, const char **))c->at[GPERF_VERSION])(&major, &minor, &patch);
    text_i64(&t, major);
    text_char(&t, '.');
    text_i64(&t, minor);
    text_str(&t, patch);
}

/* Held is all that is neither live nor returned: free spans (tcmalloc.pageheap_free_bytes), which a release can return,
 * and free blocks in spans that are partly live, which it cannot. */
static void gperf_figures(const struct alloc_copy *c, struct alloc_figures *f)
{
    int64_t heap = gperf_property(c, "generic.heap_size");
    int64_t unmapped = gperf_property(c, "tcmalloc.pageheap_unmapped_bytes");

    f->live = gperf_property(c, "generic.current_allocated_bytes");
    f->owned = gperf_property(c, "tcmalloc.current_total_thread_cache_bytes");
    if (heap != PROCFS_UNKNOWN && unmapped != PROCFS_UNKNOWN && f->live != PROCFS_UNKNOWN)
        f->held = heap - unmapped > f->live ? heap - unmapped - f->live : 0;
}

/* "Idle" lasts until the thread's next malloc. */
static void gperf_flush(const struct alloc_copy *c)
{
    if (c->at[GPERF_IDLE])
        ((void (*)(void))c->at[GPERF_IDLE])();
}

/* Holds the page heap's lock throughout: every thread that needs a span waits. */
static int gperf_step(struct alloc_copy *c, unsigned n)
{
    (void)n;
    ((void (*)(void))c->at[GPERF_RELEASE])();
    return ALLOC_DONE;
}

const struct alloc_kind alloc_gperftools = {
    .name = "tcmalloc",
    .symbols = {"MallocExtension_ReleaseFreeMemory", "MallocExtension_GetNumericProperty", "tc_version",
                "MallocExtension_MarkThreadIdle"},
    .used = gperf_used,
    .version = gperf_version,
    .figures = gperf_figures,
    .flush = gperf_flush,
    .step = gperf_step,
};
