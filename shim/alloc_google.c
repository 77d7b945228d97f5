/* google/tcmalloc, by the C symbols that its C++ interface stands on. They are no stable interface: each is looked up
 * by itself. The malloc_trim that it exports does next to nothing. No package of Debian and no wheel that we know of
 * ships it; tried by hand with a build of June 2022: of 256 MiB freed it kept 35, and 5 after these calls, here as
 * inside the program. */
#include "alloc.h"

#include <string.h>
#include <unistd.h>

enum { GOOGLE_RELEASE, GOOGLE_CPU, GOOGLE_PROPERTY };

/* Its heap grows by whole hugepages of 2 MiB; below one it is not in use. */
#define GOOGLE_FIRST_GROWTH (INT64_C(2) << 20)

static int64_t google_property(const struct alloc_copy *c, const char *name)
{
    size_t value;

    if (!c->at[GOOGLE_PROPERTY] ||
        !((bool (*)(const char *, size_t, size_t *))c->at[GOOGLE_PROPERTY])(name, strlen(name), &value))
        return PROCFS_UNKNOWN;
    return (int64_t)value;
}

static bool google_used(const struct alloc_copy *c)
{
    int64_t live = google_property(c, "generic.current_allocated_bytes");
    int64_t heap = google_property(c, "generic.heap_size");

    return (live == PROCFS_UNKNOWN && heap == PROCFS_UNKNOWN) || live > GOOGLE_FIRST_GROWTH || heap > GOOGLE_FIRST_GROWTH;
}

static void google_figures(const struct alloc_copy *c, struct alloc_figures *f)
{
    int64_t heap = google_property(c, "generic.heap_size");

    f->live = google_property(c, "generic.current_allocated_bytes");
    f->owned = google_property(c, "tcmalloc.current_total_thread_cache_bytes");
    if (heap != PROCFS_UNKNOWN && f->live != PROCFS_UNKNOWN)
        f->held = heap > f->live ? heap - f->live : 0;
}

/* It keeps a cache for each CPU that it counted at its start, in the same way as sysconf or more generously, and does not
 * check the number that it is given: rather too few than one too many. */
static unsigned google_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (unsigned)n : 0;
}

/* First every CPU's cache, a piece each, so that its blocks make whole free spans; then the spans. A number above all
 * that is free means all of it, and leaves no credit behind for the next call. */
static int google_step(struct alloc_copy *c, unsigned n)
{
    if (n == 0)
        c->pieces = c->at[GOOGLE_CPU] ? google_cpus() : 0;
    if (n < c->pieces) {
        ((size_t(*)(int))c->at[GOOGLE_CPU])((int)n);
        return ALLOC_MORE;
    }
    ((size_t(*)(size_t))c->at[GOOGLE_RELEASE])(SIZE_MAX);
    return ALLOC_DONE;
}

const struct alloc_kind alloc_google = {
    .name = "google-tcmalloc",
    .symbols = {"MallocExtension_Internal_ReleaseMemoryToSystem", "MallocExtension_Internal_ReleaseCpuMemory",
                "MallocExtension_Internal_GetNumericProperty"},
    .used = google_used,
    .figures = google_figures,
    .step = google_step,
};
