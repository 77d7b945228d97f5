/* jemalloc 4 and 5, under any prefix. Everything goes through mallctl, arena by arena: `arena.<i>.purge` exists in both
 * and holds one arena's locks at a time, where the name for all arenas at once differs between them. Other threads'
 * caches stay. 4.5 purges by MADV_FREE (4.0 and 5.x do not): the pages stay in RssAnon, as LazyFree, until the kernel needs
 * them. */
#include "alloc.h"

#include <errno.h>

#include "text.h"

enum { JE_MALLCTL, JE_BYMIB, JE_NAMETOMIB, JE_INIT_STATE };

/* Of malloc_init_state, in 4.x and 5.x alike. */
enum { JE_INITIALIZED = 0 };

enum {
    JE_WORTH = 256, /* pages (1 MiB of 4 KiB ones) */
    JE_ROUNDS = 20, /* of 10 ms: time to purge 2 to 5 GiB */
};

typedef int (*je_mallctl)(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

static int je_read(const struct alloc_copy *c, const char *name, void *value, size_t size)
{
    size_t n = size;
    int error = ((je_mallctl)c->at[JE_MALLCTL])(name, value, &n, NULL, 0);

    return error ? error : n == size ? 0 : EINVAL;
}

static int je_write(const struct alloc_copy *c, const char *name, uint64_t *value, size_t size)
{
    return ((je_mallctl)c->at[JE_MALLCTL])(name, NULL, NULL, value, size);
}

/* The first mallctl initialises jemalloc, so a copy that is not initialised must not be asked. Its own state tells, where
 * that symbol is there (in .symtab: pyarrow, polars; exported: duckdb). Where it is not (Debian's library is stripped)
 * an untouched .bss tells: one that was initialised has pages there in any version. Most builds initialise by a constructor,
 * used or not: such a copy is asked, which costs 160 to 310 KiB of jemalloc's own books, once, and gets no line. */
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

    if (je_write(c, "epoch", &epoch, sizeof epoch) || je_read(c, "stats.allocated", &live, sizeof live) ||
        je_read(c, "stats.resident", &resident, sizeof resident) ||
        je_read(c, "stats.metadata", &metadata, sizeof metadata))
        return;
    f->live = (int64_t)live;
    f->held = resident > live + metadata ? (int64_t)(resident - live - metadata) : 0;
}

/* A name with a number in it: arena.7.purge */
static const char *je_name(char *buffer, size_t size, const char *front, unsigned number, const char *back)
{
    struct text t;

    text_init(&t, buffer, size);
    text_str(&t, front);
    text_u64(&t, number);
    text_str(&t, back);
    return buffer;
}

/* Pages that wait for being purged, in all arenas; 0 when statistics do not tell. 5.x has the sum under the number
 * 4096, 4.x under the number of arenas. */
static uint64_t je_unpurged(const struct alloc_copy *c)
{
    uint64_t epoch = 1;
    size_t dirty, muzzy;
    char name[48];

    if (je_write(c, "epoch", &epoch, sizeof epoch))
        return 0;
    unsigned all = 4096;
    if (je_read(c, je_name(name, sizeof name, "stats.arenas.", all, ".pdirty"), &dirty, sizeof dirty)) {
        all = c->pieces;
        if (je_read(c, je_name(name, sizeof name, "stats.arenas.", all, ".pdirty"), &dirty, sizeof dirty))
            return 0;
    }
    if (je_read(c, je_name(name, sizeof name, "stats.arenas.", all, ".pmuzzy"), &muzzy, sizeof muzzy))
        muzzy = 0;
    return dirty + muzzy;
}

/* A purge leaves at once where another thread is purging that arena (jemalloc's own background thread, which pyarrow
 * switches on: seen with 105 MiB, which then went back 10 ms after our record). So a round that changed nothing is
 * repeated after a moment, while there is something left. */
static int je_again(struct alloc_copy *c, unsigned round)
{
    uint64_t left = je_unpurged(c);

    return left < JE_WORTH || left < c->left / 10 * 9 || round >= JE_ROUNDS ? ALLOC_DONE : ALLOC_LATER;
}

static void je_flush(const struct alloc_copy *c)
{
    je_write(c, "thread.tcache.flush", NULL, 0);
}

/* A round is a piece for each arena, and one that looks back. */
static int je_step(struct alloc_copy *c, unsigned n)
{
    char name[32];

    if (n == 0) {
        int error = je_read(c, "arenas.narenas", &c->pieces, sizeof c->pieces);
        if (error)
            return -error;
        c->left = je_unpurged(c);
    }
    unsigned arena = n % (c->pieces + 1);
    if (arena == c->pieces)
        return je_again(c, n / (c->pieces + 1));
    int error = je_write(c, je_name(name, sizeof name, "arena.", arena, ".purge"), NULL, 0);
    return error && error != ENOENT ? -error : ALLOC_MORE; /* ENOENT: an arena of that number is not there any more */
}

const struct alloc_kind alloc_jemalloc = {
    .name = "jemalloc",
    .symbols = {"mallctl", "mallctlbymib", "mallctlnametomib", "malloc_init_state"},
    .siblings = 1,
    .adopts = JE_INIT_STATE, /* has the prefix of private names: je_arrow_private_je_ beside je_arrow_ */
    .touched = je_touched,
    .version = je_version,
    .figures = je_figures,
    .flush = je_flush,
    .step = je_step,
};
