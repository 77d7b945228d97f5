#include "alloc.h"

#include <string.h>

#include "elffile.h"
#include "gate.h"
#include "sys.h"

enum { ALLOC_HITS = 64, ALLOC_NAMES = 40, ALLOC_PIECE = 4096 };

/* The order in which copies are asked, and found. GIVEBACK_CALL comes first, since what those functions free lands in
 * an allocator. Then google/tcmalloc before glibc: it exports a malloc_trim of its own, which is not asked for: glibc
 * is recognised as the object that also has gnu_get_libc_version. */
static const struct alloc_kind *const alloc_kinds[] = {&alloc_call,     &alloc_google, &alloc_gperftools, &alloc_jemalloc,
                                                       &alloc_mimalloc, &alloc_tbb,    &alloc_glibc};
enum { ALLOC_KINDS = sizeof alloc_kinds / sizeof alloc_kinds[0] };

/* One symbol of an object that an allocator may be recognised by. */
struct alloc_hit {
    const struct alloc_kind *kind;
    unsigned symbol; /* index into kind->symbols */
    char prefix[ELFFILE_PREFIX_MAX + 1];
    uintptr_t address;
};

static struct {
    struct alloc_copy copy[ALLOC_COPIES];
    size_t n;
    uint64_t proxy; /* identity of TBB's proxy, which has the malloc but not the allocator */
    /* of the object that is being looked at: */
    struct alloc_hit hit[ALLOC_HITS];
    size_t n_hits;
    size_t next; /* symbol of .dynsym from which the search goes on; 0: it is through */
    bool search_file;
} alloc_table;

/* The names that are looked for by their end, and what they mean. */
static struct {
    const char *name[ALLOC_NAMES];
    struct { const struct alloc_kind *kind; unsigned symbol; } means[ALLOC_NAMES];
    size_t n;
} alloc_names;

static void alloc_names_make(void)
{
    if (alloc_names.n)
        return;
    for (size_t k = 0; k < ALLOC_KINDS; k++) {
        /* glibc is found by whole names, the functions of GIVEBACK_CALL too */
        if (alloc_kinds[k] == &alloc_glibc || alloc_kinds[k] == &alloc_call)
            continue;
        for (unsigned i = 0; i < ALLOC_FUNCTIONS && alloc_kinds[k]->symbols[i]; i++) {
            alloc_names.name[alloc_names.n] = alloc_kinds[k]->symbols[i];
            alloc_names.means[alloc_names.n].kind = alloc_kinds[k];
            alloc_names.means[alloc_names.n].symbol = i;
            alloc_names.n++;
        }
    }
}

void alloc_reset(void)
{
    object_reset();
    alloc_table.n = 0;
    alloc_table.proxy = 0;
}

static void alloc_gone(uint64_t identity)
{
    size_t kept = 0;

    for (size_t i = 0; i < alloc_table.n; i++) {
        if (alloc_table.copy[i].identity == identity)
            continue;
        if (kept != i)
            memcpy(&alloc_table.copy[kept], &alloc_table.copy[i], sizeof alloc_table.copy[i]);
        kept++;
    }
    alloc_table.n = kept;
}

static struct alloc_copy *alloc_add(const struct alloc_kind *kind, const struct object *o, const char *prefix,
                                    const char *symbol)
{
    size_t p = strlen(prefix), n = strlen(symbol);

    if (alloc_table.n == ALLOC_COPIES || p + n >= ALLOC_SYMBOL_MAX)
        return NULL;
    struct alloc_copy *c = &alloc_table.copy[alloc_table.n++];
    memset(c, 0, sizeof *c);
    c->kind = kind;
    c->identity = o->identity;
    c->bias = o->bias;
    memcpy(c->object, o->name, sizeof c->object);
    memcpy(c->path, o->path, strlen(o->path) + 1);
    memcpy(c->symbol, prefix, p);
    memcpy(c->symbol + p, symbol, n + 1);
    c->safe = o->resident;
    return c;
}

static void alloc_hit_add(size_t name, const char *prefix, size_t n, uintptr_t address)
{
    if (alloc_table.n_hits == ALLOC_HITS)
        return;
    struct alloc_hit *h = &alloc_table.hit[alloc_table.n_hits++];
    h->kind = alloc_names.means[name].kind;
    h->symbol = alloc_names.means[name].symbol;
    h->address = address;
    memcpy(h->prefix, prefix, n);
    h->prefix[n] = '\0';
}

/* During a visit: where a whole name is; 0: not there, or an IFUNC (whose resolver is the object's code). */
static uintptr_t alloc_exactly(const struct object *o, const char *name)
{
    const ElfW(Sym) *s = o->has_symbols ? elfsym_find(&o->symbols, name) : NULL;

    return s && ELF64_ST_TYPE(s->st_info) == STT_FUNC ? o->bias + s->st_value : 0;
}

/* Can an allocator live there? It has to get its memory from somewhere: of 312 objects of a large PyTorch process few
 * have any of these, and only theirs are searched. Symbols that are not defined stand before those that the GNU hash
 * table knows. */
static bool alloc_is_possible(const struct elfsym *e)
{
    static const char *const sources[] = {"mmap", "mmap64", "madvise", "sbrk"};
    size_t n = e->gnu_hash ? e->gnu_hash[1] : elfsym_count(e);

    if (elfsym_count(e) <= 1) /* an empty hash table does not tell how many symbols there are that are not defined */
        return true;
    for (size_t i = 1; i < n; i++) {
        const char *name = elfsym_name(e, &e->symbols[i]);
        if (e->symbols[i].st_shndx != SHN_UNDEF || (name[0] != 'm' && name[0] != 's'))
            continue;
        for (size_t k = 0; k < sizeof sources / sizeof sources[0]; k++)
            if (strcmp(name, sources[k]) == 0)
                return true;
    }
    return false;
}

/* .dynsym, a piece a visit: libtorch_cpu.so's 75,000 names take 33 ms when they are read for the first time, and a host
 * thread that throws or opens a library waits for ld.so's lock meanwhile. */
static void alloc_search_memory(const struct object *o, void *context)
{
    const struct elfsym *e = &o->symbols;
    size_t n = elfsym_count(e), end = alloc_table.next + ALLOC_PIECE;

    (void)context;
    if (end > n)
        end = n;
    for (size_t i = alloc_table.next; i < end; i++) {
        const ElfW(Sym) *s = &e->symbols[i];
        unsigned type = ELF64_ST_TYPE(s->st_info);
        if (s->st_shndx == SHN_UNDEF || !s->st_value || (type != STT_FUNC && type != STT_OBJECT))
            continue;
        const char *name = elfsym_name(e, s);
        size_t length = strlen(name);
        long which = length ? elffile_name_match(name, length, alloc_names.name, alloc_names.n) : -1;
        if (which >= 0)
            alloc_hit_add((size_t)which, name, length - strlen(alloc_names.name[which]), o->bias + s->st_value);
    }
    alloc_table.next = end < n ? end : 0;
}

static void alloc_find_glibc(const struct object *o)
{
    if (!alloc_exactly(o, "gnu_get_libc_version") || !alloc_exactly(o, alloc_glibc.symbols[0]))
        return;
    struct alloc_copy *c = alloc_add(&alloc_glibc, o, "", alloc_glibc.symbols[0]);
    for (size_t i = 0; c && i < ALLOC_FUNCTIONS && alloc_glibc.symbols[i]; i++)
        c->at[i] = alloc_exactly(o, alloc_glibc.symbols[i]);
}

static void alloc_call_add(const struct object *o, const char *name, uintptr_t at)
{
    struct alloc_copy *c = alloc_add(&alloc_call, o, "", name);

    if (c)
        c->at[0] = at;
}

/* The visit: everything that is read from the object's own memory. */
static void alloc_visit(const struct object *o, void *context)
{
    const char *names[ALLOC_FUNCTIONS];
    bool named;
    size_t n = alloc_call_wanted(o->name, names, &named);

    (void)context;
    alloc_table.n_hits = 0;
    alloc_table.next = 0;
    alloc_table.search_file = named;
    if (!o->has_symbols)
        return;
    alloc_find_glibc(o);
    if (alloc_exactly(o, "__TBB_malloc_proxy"))
        alloc_table.proxy = o->identity;
    for (size_t i = 0; i < n; i++) {
        uintptr_t at = alloc_exactly(o, names[i]);
        if (at)
            alloc_call_add(o, names[i], at);
    }
    if (!alloc_is_possible(&o->symbols))
        return;
    alloc_table.next = o->symbols.gnu_hash ? o->symbols.gnu_hash[1] : 1;
    alloc_table.search_file = true;
}

/* What the file has at that offset, to be compared with what is mapped, if that is still there. */
struct alloc_code {
    uint64_t offset;
    const void *bytes;
    size_t n;
    bool same;
};

static void alloc_compare(const struct object *o, void *context)
{
    struct alloc_code *code = context;

    code->same = object_has(o, code->offset, code->bytes, code->n);
}

static bool alloc_has(const struct object *o, uint64_t offset, const void *bytes, size_t n)
{
    struct alloc_code code = {offset, bytes, n, false};

    return object_again(o->identity, alloc_compare, &code) && code.same;
}

struct alloc_search {
    const struct object *o;
    const struct elffile *f;
    const char *const *calls; /* NULL: the allocators are looked for */
};

static void alloc_found(void *context, const struct elffile_symbol *s)
{
    const struct alloc_search *search = context;
    uintptr_t at = search->o->bias + s->value;

    if (s->type == STT_GNU_IFUNC)
        return;
    if (s->type == STT_FUNC && !object_file_has(search->f, search->o, s->value, alloc_has))
        return;
    if (!search->calls)
        alloc_hit_add(s->name, s->prefix, strlen(s->prefix), at);
    else if (!s->prefix[0] && s->type == STT_FUNC && !alloc_has_call(search->calls[s->name]))
        alloc_call_add(search->o, search->calls[s->name], at);
}

/* What only the file has. It is read in pieces, outside ld.so's lock. */
static void alloc_search_file(const struct object *o)
{
    static char buffer[4 * ELFFILE_BUFFER] __attribute__((aligned(16)));
    const char *names[ALLOC_FUNCTIONS];
    struct elffile f;
    int fd = object_file_open(&f, o->path, o, alloc_has);

    if (fd < 0)
        return;
    f.context = &fd;
    if (f.symtab_size) {
        struct alloc_search search = {o, &f, NULL};
        elffile_search(&f, alloc_names.name, alloc_names.n, buffer, sizeof buffer, alloc_found, &search);
        bool named;
        size_t n = alloc_call_wanted(o->name, names, &named);
        search.calls = names;
        if (n)
            elffile_search(&f, names, n, buffer, sizeof buffer, alloc_found, &search);
    }
    sys1(SYS_close, fd);
}

/* The address of a kind's symbol with that prefix, or of the only one there with any prefix when prefix is NULL. */
static uintptr_t alloc_hit_find(const struct alloc_kind *kind, unsigned symbol, const char *prefix)
{
    uintptr_t at = 0;

    for (size_t i = 0; i < alloc_table.n_hits; i++) {
        const struct alloc_hit *h = &alloc_table.hit[i];
        if (h->kind != kind || h->symbol != symbol || (prefix && strcmp(h->prefix, prefix) != 0))
            continue;
        if (!prefix && at && at != h->address)
            return 0;
        at = h->address;
    }
    return at;
}

static bool alloc_is_known(const struct alloc_kind *kind, uintptr_t anchor)
{
    for (size_t i = 0; i < alloc_table.n; i++)
        if (alloc_table.copy[i].kind == kind && alloc_table.copy[i].at[0] == anchor)
            return true;
    return false;
}

/* Make copies of what was found in an object. An anchor that stands twice (in .dynsym and .symtab, or under an alias)
 * is one copy. */
static void alloc_group(const struct object *o)
{
    for (size_t i = 0; i < alloc_table.n_hits; i++) {
        const struct alloc_hit *h = &alloc_table.hit[i];
        const struct alloc_kind *kind = h->kind;
        uintptr_t at[ALLOC_FUNCTIONS] = {h->address};
        unsigned siblings = 0;

        if (h->symbol != 0 || alloc_is_known(kind, h->address))
            continue;
        for (unsigned k = 1; k < ALLOC_FUNCTIONS && kind->symbols[k]; k++) {
            at[k] = alloc_hit_find(kind, k, h->prefix);
            siblings += at[k] != 0;
            if (!at[k] && k == kind->adopts)
                at[k] = alloc_hit_find(kind, k, NULL);
        }
        if (siblings < kind->siblings)
            continue;
        struct alloc_copy *c = alloc_add(kind, o, h->prefix, kind->symbols[0]);
        if (c)
            memcpy(c->at, at, sizeof at);
    }
}

bool alloc_scan(void)
{
    static struct object o; /* there is one worker, and its stack is small */
    int found;

    alloc_names_make();
    while ((found = object_next(&o, alloc_visit, alloc_gone, NULL)) > 0) {
        while (alloc_table.next && object_again(o.identity, alloc_search_memory, NULL))
            ;
        if (alloc_table.search_file)
            alloc_search_file(&o);
        alloc_group(&o);
    }
    return found == 0;
}

struct alloc_copy *alloc_at(size_t i)
{
    for (size_t k = 0; k < ALLOC_KINDS; k++)
        for (size_t c = 0; c < alloc_table.n; c++)
            if (alloc_table.copy[c].kind == alloc_kinds[k] && i-- == 0)
                return &alloc_table.copy[c];
    return NULL;
}

struct alloc_question {
    const struct alloc_copy *copy;
    bool touched;
};

static void alloc_ask(const struct object *o, void *context)
{
    struct alloc_question *q = context;

    q->touched = q->copy->kind->touched(q->copy, o);
}

bool alloc_ready(struct alloc_copy *c)
{
    struct alloc_question q = {c, true};

    if (c->kind->touched && (!object_again(c->identity, alloc_ask, &q) || !q.touched))
        return false;
    if (!c->safe)
        c->safe = object_pin(c->path, c->bias);
    if (!c->safe)
        return false;
    if (!c->kind->used || alloc_serves_malloc(c))
        return true;
    if (!gate_enter())
        return false;
    bool used = c->kind->used(c);
    gate_leave();
    return used;
}

bool alloc_serves_malloc(const struct alloc_copy *c)
{
    const char *name;
    uint64_t identity = object_of_malloc(&name);

    return identity && (c->identity == identity || (c->kind == &alloc_tbb && identity == alloc_table.proxy));
}

const char *alloc_stranger(void)
{
    const char *name;

    if (!object_of_malloc(&name))
        return NULL;
    for (size_t i = 0; i < alloc_table.n; i++)
        if (alloc_table.copy[i].kind != &alloc_call && alloc_serves_malloc(&alloc_table.copy[i]))
            return NULL;
    return name;
}

bool alloc_has_call(const char *symbol)
{
    for (size_t i = 0; i < alloc_table.n; i++)
        if (alloc_table.copy[i].kind == &alloc_call && strcmp(alloc_table.copy[i].symbol, symbol) == 0)
            return true;
    return false;
}
