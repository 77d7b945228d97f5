#include "hook_find.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "glob.h"
#include "sys.h"

#define HOOK_TABLES_MAX (UINT64_C(1) << 30) /* of .symtab and .strtab; libtorch_cpu.so's with every symbol are 60 MiB */

struct hook_search {
    const struct object *o;
    const char *pattern;
    hook_visit visit;
    void *context;
    size_t found;
};

static void hook_symbol(struct hook_search *s, const ElfW(Sym) *y, const char *name, const struct elffile *f)
{
    struct hook_found found = {name, s->o->bias + y->st_value, y->st_size, ELF64_ST_TYPE(y->st_info)};

    if (y->st_shndx == SHN_UNDEF || y->st_shndx >= SHN_LORESERVE || !y->st_value ||
        (found.type != STT_FUNC && found.type != STT_GNU_IFUNC && found.type != STT_OBJECT) || !glob_match(s->pattern, name))
        return;
    if (f && found.type == STT_FUNC && !object_file_has(f, s->o, y->st_value, object_has))
        return;
    s->found++;
    s->visit(s->context, &found);
}

static void hook_search_memory(struct hook_search *s)
{
    const struct elfsym *e = &s->o->symbols;
    size_t n = s->o->has_symbols ? elfsym_count(e) : 0;

    for (size_t i = 1; i < n; i++)
        hook_symbol(s, &e->symbols[i], elfsym_name(e, &e->symbols[i]), NULL);
}

static void hook_search_tables(struct hook_search *s, const struct elffile *f, char *tables)
{
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)(void *)tables;
    const char *strings = tables + f->symtab_size;

    if (f->read(f->context, tables, f->symtab_size, f->symtab) != (long)f->symtab_size ||
        f->read(f->context, tables + f->symtab_size, f->strtab_size, f->strtab) != (long)f->strtab_size)
        return;
    for (size_t i = 0; i < f->symtab_size / sizeof *symbols; i++)
        if (symbols[i].st_name < f->strtab_size)
            hook_symbol(s, &symbols[i], strings + symbols[i].st_name, f);
}

/* false: it has no table, or none that is sound. */
static bool hook_search_file(struct hook_search *s, struct elffile *f, int fd)
{
    bool sound = f->symtab_size && f->symtab_size < HOOK_TABLES_MAX && f->strtab_size < HOOK_TABLES_MAX;

    f->context = &fd;
    if (sound) {
        size_t size = f->symtab_size + f->strtab_size + 1; /* a last name without its NUL gets one */
        long at = sys6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at > 0) {
            hook_search_tables(s, f, (char *)at);
            sys2(SYS_munmap, at, size);
        }
    }
    sys1(SYS_close, fd);
    return sound;
}

/* In the object's own file, or in what was stripped from it. */
static void hook_search_files(struct hook_search *s)
{
    char debug[ELFFILE_DEBUG_MAX];
    struct elffile f;
    int fd = object_file_open(&f, s->o->path, s->o, object_has);

    if ((fd >= 0 && hook_search_file(s, &f, fd)) || elffile_debug_path(s->o->id, s->o->id_size, debug) != 0)
        return;
    fd = object_file_open(&f, debug, s->o, object_has);
    if (fd >= 0)
        (void)hook_search_file(s, &f, fd);
}

bool hook_is_pattern(const char *symbol)
{
    return symbol[strcspn(symbol, "*?[\\")] != '\0';
}

void hook_find(const struct object *o, const char *pattern, hook_visit visit, void *context)
{
    struct hook_search s = {o, pattern, visit, context, 0};

    if (!hook_is_pattern(pattern)) {
        const ElfW(Sym) *y = o->has_symbols ? elfsym_find(&o->symbols, pattern) : NULL;
        if (y)
            hook_symbol(&s, y, elfsym_name(&o->symbols, y), NULL);
        if (s.found)
            return;
    } else {
        hook_search_memory(&s);
    }
    hook_search_files(&s);
}
