#include "object.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "gate.h"
#include "real.h"
#include "sys.h"

enum {
    OBJECT_SEEN = 2048, /* further objects are not searched; a large PyTorch process has about 300 */
    OBJECT_PAGE = 4096  /* the smallest page; on a larger one it only asks more often */
};

static struct {
    unsigned long long adds, subs; /* as the last complete scan found them */
    bool complete;
    uint64_t seen[OBJECT_SEEN];
    size_t n_seen;
    uint64_t malloc_identity;
    char malloc_name[OBJECT_NAME_MAX];
} object_table;

/* Set by the constructor; the first so many entries of ld.so's list are those of program start (it appends). An object
 * that another library's constructor opened before ours ran counts among them. */
static size_t object_at_start;

static int object_count(struct dl_phdr_info *i, size_t size, void *context)
{
    (void)size;
    *(size_t *)context = i->dlpi_subs ? 0 : (size_t)i->dlpi_adds;
    return 1;
}

void object_start(void)
{
    dl_iterate_phdr(object_count, &object_at_start);
}

void object_reset(void)
{
    object_table.complete = false;
    object_table.n_seen = 0;
    object_table.malloc_identity = 0;
}

static bool object_is_seen(uint64_t identity, size_t *where)
{
    for (size_t i = 0; i < object_table.n_seen; i++) {
        if (object_table.seen[i] == identity) {
            *where = i;
            return true;
        }
    }
    return false;
}

struct object_walk {
    struct object *o;
    object_visit visit;
    void *context;
    size_t position;
    bool changed, found;
    uint64_t only;                                     /* object_again: this one, whether seen or not */
    unsigned char there[OBJECT_SEEN / 8];              /* which of the seen ones are still loaded */
};

static void object_note_malloc(const struct object *o)
{
    if (object_table.malloc_identity || !o->has_symbols || !elfsym_find(&o->symbols, "malloc"))
        return;
    object_table.malloc_identity = o->identity;
    memcpy(object_table.malloc_name, o->name, sizeof object_table.malloc_name);
}

static int object_walk_next(struct dl_phdr_info *i, size_t size, void *context)
{
    struct object_walk *w = context;
    size_t where;

    (void)size;
    if (!w->position && object_table.complete && i->dlpi_adds == object_table.adds && i->dlpi_subs == object_table.subs)
        return 1;
    w->changed = true;
    object_table.adds = i->dlpi_adds;
    object_table.subs = i->dlpi_subs;
    object_fill(w->o, i, w->position++);
    w->o->resident = w->position <= object_at_start;
    object_note_malloc(w->o);
    if (object_is_seen(w->o->identity, &where)) {
        w->there[where / 8] = (unsigned char)(w->there[where / 8] | 1U << where % 8);
        return 0;
    }
    if (object_table.n_seen == OBJECT_SEEN)
        return 0;
    object_table.seen[object_table.n_seen++] = w->o->identity;
    w->visit(w->o, w->context);
    w->found = true;
    return 1;
}

/* The whole list was walked and holds nothing new: what is in the table but was not met has been unloaded. */
static void object_forget_gone(const struct object_walk *w, void (*gone)(uint64_t identity))
{
    size_t kept = 0;

    for (size_t i = 0; i < object_table.n_seen; i++) {
        uint64_t identity = object_table.seen[i];
        if (w->there[i / 8] >> i % 8 & 1)
            object_table.seen[kept++] = identity;
        else
            gone(identity);
    }
    object_table.n_seen = kept;
}

int object_next(struct object *o, object_visit visit, void (*gone)(uint64_t identity), void *context)
{
    struct object_walk w = {.o = o, .visit = visit, .context = context};

    if (!gate_enter())
        return -ECANCELED;
    dl_iterate_phdr(object_walk_next, &w);
    gate_leave();
    if (w.found) {
        object_table.complete = false;
        return 1;
    }
    if (w.changed)
        object_forget_gone(&w, gone);
    object_table.complete = true;
    return 0;
}

uint64_t object_of_malloc(const char **name)
{
    *name = object_table.malloc_name;
    return object_table.malloc_identity;
}

static int object_walk_again(struct dl_phdr_info *i, size_t size, void *context)
{
    struct object_walk *w = context;

    (void)size;
    object_fill(w->o, i, w->position++);
    w->o->resident = w->position <= object_at_start;
    if (w->o->identity != w->only)
        return 0;
    w->visit(w->o, w->context);
    w->found = true;
    return 1;
}

bool object_again(uint64_t identity, object_visit visit, void *context)
{
    static struct object o; /* there is one worker, and its stack is small */
    struct object_walk w = {.o = &o, .visit = visit, .context = context, .only = identity};

    if (!gate_enter())
        return false;
    dl_iterate_phdr(object_walk_again, &w);
    gate_leave();
    return w.found;
}

bool object_pin(const char *path, uintptr_t bias)
{
    void *(*open)(const char *, int) = (void *(*)(const char *, int))(uintptr_t)real_find("dlopen");
    int (*close)(void *) = (int (*)(void *))(uintptr_t)real_find("dlclose");
    bool pinned = false;

    if (!open || !close || !path[0] || !gate_enter())
        return false;
    struct link_map *map = open(path, RTLD_LAZY | RTLD_NOLOAD);
    if (map && map->l_addr == bias)
        pinned = true;
    else if (map)
        close(map);
    gate_leave();
    return pinned;
}

bool object_bss_touched(const struct object *o)
{
    for (size_t k = 0; k < o->n_segments; k++) {
        const ElfW(Phdr) *p = &o->segments[k];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_W) || p->p_memsz == p->p_filesz)
            continue;
        uintptr_t at = (o->bias + p->p_vaddr + p->p_filesz + OBJECT_PAGE - 1) & ~(uintptr_t)(OBJECT_PAGE - 1);
        for (; at < o->bias + p->p_vaddr + p->p_memsz; at += OBJECT_PAGE) {
            unsigned char page[1];
            /* mincore tells of a private anonymous page whether it is there, and wants no descriptor. What it refuses
             * (an address that is no page's begin, where pages are larger) counts as touched. */
            if (sys3(SYS_mincore, at, 1, page) != 0 || page[0] & 1)
                return true;
        }
    }
    return false;
}
