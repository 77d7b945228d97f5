#include "real.h"

#include <stddef.h>
#include <sys/auxv.h>

#include "elfsym.h"

/* Our own dynamic section; the linker makes it hidden in every shared object. */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* By way of the program's DT_DEBUG, since ld.so's own _r_debug would have to be linked, and only libc is. */
const struct r_debug *real_debug(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long n = getauxval(AT_PHNUM);
    const ElfW(Dyn) *dynamic = NULL;
    uintptr_t bias = 0;

    for (unsigned long i = 0; headers && i < n; i++)
        if (headers[i].p_type == PT_PHDR)
            bias = (uintptr_t)headers - headers[i].p_vaddr;
    for (unsigned long i = 0; headers && i < n; i++)
        if (headers[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(bias + headers[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_DEBUG && dynamic->d_un.d_ptr)
            return (const struct r_debug *)dynamic->d_un.d_ptr;
    return NULL;
}

struct link_map *real_objects(void)
{
    const struct r_debug *d = real_debug();

    return d ? d->r_map : NULL;
}

struct link_map *real_own(void)
{
    struct link_map *map = real_objects();

    while (map && map->l_ld != _DYNAMIC)
        map = map->l_next;
    return map;
}

/* From `map` up to, not including, `end`. */
static void *real_find_between(const struct link_map *map, const struct link_map *end, const char *name)
{
    for (; map && map != end; map = map->l_next) {
        struct elfsym e;
        const ElfW(Sym) *symbol;

        if (elfsym_read(&e, map->l_addr, map->l_ld) == 0 && (symbol = elfsym_find(&e, name)))
            return elfsym_address(&e, symbol);
    }
    return NULL;
}

static void *real_find_behind(const char *name)
{
    const struct link_map *own = real_own();

    return own ? real_find_between(own->l_next, NULL, name) : NULL;
}

bool real_in_front(void)
{
    return real_find_behind("sigaction") != NULL;
}

void *real_find(const char *name)
{
    void *found = real_find_behind(name);

    return found ? found : real_find_between(real_objects(), real_own(), name);
}
