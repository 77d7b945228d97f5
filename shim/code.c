#include "code.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "elfsym.h"
#include "real.h"

#define CODE_OBJECTS 64 /* objects of program start that are told apart; those behind them are never plain */

struct code_range {
    uintptr_t start, end;
};

/* _dl_find_object, glibc 2.35: the only look-up of an object by address that is documented as async-signal-safe. */
struct code_found {
    unsigned long long flags;
    void *start, *end;
    struct link_map *map;
    void *eh_frame;
    unsigned long long reserved[7];
};

static struct code_range code_libc, code_libpthread, code_cond_wait;
static int (*code_find_object)(void *, struct code_found *);
static unsigned code_objects; /* of program start: they are never unloaded, so their part of the list never changes */

/* The executable segments: of the program from what the kernel says, of a library from the headers that ld.so has
 * mapped with its first segment. */
static struct code_range code_range_of(const struct link_map *map)
{
    const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)map->l_addr;
    struct code_range range = {UINTPTR_MAX, 0};
    const ElfW(Phdr) *header = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    int n = (int)getauxval(AT_PHNUM);

    if (map->l_prev) {
        if (!file || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0)
            return (struct code_range){0, 0};
        header = (const ElfW(Phdr) *)(map->l_addr + file->e_phoff);
        n = file->e_phnum;
    }
    for (int i = 0; i < n; i++) {
        uintptr_t start = map->l_addr + header[i].p_vaddr;

        if (header[i].p_type != PT_LOAD || !(header[i].p_flags & PF_X))
            continue;
        if (start < range.start)
            range.start = start;
        if (start + header[i].p_memsz > range.end)
            range.end = start + header[i].p_memsz;
    }
    return range.end ? range : (struct code_range){0, 0};
}

static void code_start_libpthread(const struct link_map *map, const struct elfsym *e)
{
    const ElfW(Sym) *wait = elfsym_find(e, "pthread_cond_wait");

    code_libpthread = code_range_of(map);
    if (wait)
        code_cond_wait = (struct code_range){map->l_addr + wait->st_value, map->l_addr + wait->st_value + wait->st_size};
}

void code_start(void)
{
    for (struct link_map *map = real_objects(); map; map = map->l_next, code_objects++) {
        struct elfsym e;

        if (!map->l_addr || elfsym_read(&e, map->l_addr, map->l_ld) < 0)
            continue;
        if (!code_libc.end && elfsym_find(&e, "gnu_get_libc_version"))
            code_libc = code_range_of(map);
        else if (!code_libpthread.end && e.soname && strcmp(e.soname, "libpthread.so.0") == 0)
            code_start_libpthread(map, &e);
    }
    code_find_object = (int (*)(void *, struct code_found *))(uintptr_t)real_find("_dl_find_object");
}

static bool code_within(const struct code_range *r, uintptr_t pc)
{
    return pc >= r->start && pc < r->end;
}

bool code_in_libc(uintptr_t pc)
{
    return code_within(&code_libc, pc) || code_within(&code_libpthread, pc);
}

bool code_in_cond_wait(uintptr_t pc)
{
    return code_within(&code_cond_wait, pc);
}

/* The object that defines `malloc` first, by its place in the list; -1: none. */
static int code_allocator(struct link_map *const *objects, unsigned n)
{
    struct elfsym e;

    for (unsigned i = 0; i < n; i++)
        if (elfsym_read(&e, objects[i]->l_addr, objects[i]->l_ld) == 0 && elfsym_find(&e, "malloc"))
            return (int)i;
    return -1;
}

static bool code_needs(const struct link_map *map, const struct link_map *other)
{
    struct elfsym e, o;

    if (elfsym_read(&e, map->l_addr, map->l_ld) < 0 || elfsym_read(&o, other->l_addr, other->l_ld) < 0 || !o.soname)
        return false;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED && d->d_un.d_val < e.strings_size && strcmp(e.strings + d->d_un.d_val, o.soname) == 0)
            return true;
    return false;
}

/* The allocator and all that it needs, as bits by place in the list. */
static uint64_t code_allocator_and_below(struct link_map *const *objects, unsigned n)
{
    int first = code_allocator(objects, n);
    uint64_t set = first < 0 ? ~UINT64_C(0) : UINT64_C(1) << first, before = 0;

    while (set != before) {
        before = set;
        for (unsigned i = 0; i < n; i++)
            for (unsigned k = 0; (set & (UINT64_C(1) << i)) && k < n; k++)
                if (!(set & (UINT64_C(1) << k)) && code_needs(objects[i], objects[k]))
                    set |= UINT64_C(1) << k;
    }
    return set;
}

/* Which object of the list is it in? -1: in none of these, but in another one; -2: not to be told. */
static int code_object_at(struct link_map *const *objects, unsigned n, uintptr_t pc)
{
    struct code_found found;

    if (code_find_object) {
        if (code_find_object((void *)pc, &found) != 0)
            return -2;
        for (unsigned i = 0; i < n; i++)
            if (objects[i] == found.map)
                return (int)i;
        return n < code_objects ? -2 : -1;
    }
    for (unsigned i = 0; i < n; i++) {
        struct code_range range = code_range_of(objects[i]);

        if (code_within(&range, pc))
            return (int)i;
    }
    return -2;
}

bool code_is_plain(uintptr_t pc)
{
    struct link_map *objects[CODE_OBJECTS];
    unsigned n = 0;
    struct elfsym e;
    int at;

    for (struct link_map *map = real_objects(); map && n < code_objects && n < CODE_OBJECTS; map = map->l_next)
        objects[n++] = map;
    at = code_object_at(objects, n, pc);
    if (at == -1)
        return true;
    return at >= 0 && !code_in_libc(pc) && elfsym_read(&e, objects[at]->l_addr, objects[at]->l_ld) == 0 &&
           !elfsym_find(&e, "_r_debug") /* only ld.so has it */ &&
           !(code_allocator_and_below(objects, n) & (UINT64_C(1) << at));
}
