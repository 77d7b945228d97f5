/* jemalloc 4 and 5, under any prefix. Everything goes through mallctl, arena by arena: `arena.<i>.purge` exists in both and
 * holds one arena's locks at a time, where the name for all arenas at once differs between them. Other threads' caches stay. */
#include "alloc.h"

#include <errno.h>

#include "text.h"

enum { JE_MALLCTL, JE_BYMIB, JE_NAMETOMIB, JE_INIT_STATE };

/* Of malloc_init_state, in 4.x and 5.x alike. */
enum { JE_INITIALIZED = 0 };

static int je_read(const struct alloc_copy *c, const char *name, void *value, size_t size)
{
    size_t n = size;
    int error = ((int (*)(const char *, void *, size_t *, void *, size_t))c->at[JE_MALLCTL])(name, value, &n, NULL, 0);

    return error ? error : n == size ? 0 : EINVAL;
}

/* The first mallctl initialises jemalloc, so a copy that is not in use must not be asked. Its own state tells, where the
 * object has that symbol (in .symtab: pyarrow, polars; exported: duckdb). Debian's has none; but then it is stripped of
 * code that was built with a constructor which initialises (all plain builds are), and otherwise has touched no page of
 * its zero-initialised data. */
static bool je_touched(const struct alloc_copy *c, const struct object *o)
{
    if (c->at[JE_INIT_STATE])
        return *(const volatile unsigned *)c->at[JE_INIT_STATE] == JE_INITIALIZED;
    return object_bss_touched(o);
}

/* "5.3.0-0-g54eaed1d...": up to the first '-' */
static void je_version(const struct alloc_copy *c, char *text, size_t size)
{
    const char *version = NULL;
    size_t n = 0;
    struct text t;

    text_init(&t, text, size);
    if (je_read(c, "version", &version, sizeof version) || !version)
        return;
    while (version[n] && version[n] != '-')
        n++;
    text_mem(&t, version, n);
}

/* Statistics are those of the last epoch. A build without them has none of the names. Resident counts the allocator's own
 * books too. */
static void je_figures(const struct alloc_copy *c, struct alloc_figures *f)
{
    size_t live, resident, metadata;
    uint64_t epoch = 1;
    size_t n = sizeof epoch;

    if (((int (*)(const char *, void *, size_t *, void *, size_t))c->at[JE_MALLCTL])("epoch", &epoch, &n, &epoch, n) ||
        je_read(c, "stats.allocated", &live, sizeof live) || je_read(c, "stats.resident", &resident, sizeof resident) ||
        je_read(c, "stats.metadata", &metadata, sizeof metadata))
        return;
    f->live = (int64_t)live;
    f->held = resident > live + metadata ? (int64_t)(resident - live - metadata) : 0;
}

static int je_step(struct alloc_copy *c, unsigned n)
{
    char name[32];
    struct text t;

    if (n == 0) {
        int error = je_read(c, "arenas.narenas", &c->pieces, sizeof c->pieces);
        if (error)
            return -error;
    }
    text_init(&t, name, sizeof name);
    text_str(&t, "arena.");
    text_u64(&t, n);
    text_str(&t, ".purge");
    int error = ((int (*)(const char *, void *, size_t *, void *, size_t))c->at[JE_MALLCTL])(name, NULL, NULL, NULL, 0);
    if (error && error != ENOENT) /* an arena of that number is not there (any more) */
        return -error;
    return n + 1 < c->pieces;
}

const struct alloc_kind alloc_jemalloc = {
    .name = "jemalloc",
    .symbols = {"mallctl", "mallctlbymib", "mallctlnametomib", "malloc_init_state"},
    .siblings = 1,
    .adopts = JE_INIT_STATE, /* has the prefix of private names: je_arrow_private_je_ beside je_arrow_ */
    .touched = je_touched,
    .version = je_version,
    .figures = je_figures,
    .step = je_step,
};
