#include "hook_refuse.h"

#include "hookable.h"
#include "real.h"

#if defined __x86_64__
enum { REFUSE_DATA = R_X86_64_GLOB_DAT, REFUSE_CALL = R_X86_64_JUMP_SLOT };
#else
enum { REFUSE_DATA = R_AARCH64_GLOB_DAT, REFUSE_CALL = R_AARCH64_JUMP_SLOT };
#endif

static void hook_refused_add(struct hook_refused *r, uintptr_t at, const char *why)
{
    if (at && r->n < HOOK_REFUSED) {
        r->function[r->n].at = at;
        r->function[r->n++].why = why;
    }
}

/* What ld.so has bound our own calls to, before our constructor (the library is linked with -z now). The names alone would not do:
 * of an IFUNC it is what was chosen, and another library may have come first. */
static void hook_refused_own(struct hook_refused *r, const struct link_map *own)
{
    const ElfW(Rela) *table[2] = {NULL, NULL};
    size_t size[2] = {0, 0};

    for (const ElfW(Dyn) *d = own->l_ld; d->d_tag != DT_NULL; d++) {
        uintptr_t at = d->d_un.d_ptr < own->l_addr ? own->l_addr + d->d_un.d_ptr : d->d_un.d_ptr;
        switch (d->d_tag) {
        case DT_RELA: table[0] = (const ElfW(Rela) *)at; break;
        case DT_RELASZ: size[0] = d->d_un.d_val; break;
        case DT_JMPREL: table[1] = (const ElfW(Rela) *)at; break;
        case DT_PLTRELSZ: size[1] = d->d_un.d_val; break;
        default: break;
        }
    }
    for (unsigned t = 0; t < 2; t++)
        for (size_t i = 0; table[t] && i < size[t] / sizeof *table[t]; i++)
            if (ELF64_R_TYPE(table[t][i].r_info) == REFUSE_DATA || ELF64_R_TYPE(table[t][i].r_info) == REFUSE_CALL)
                hook_refused_add(r, *(const uintptr_t *)(own->l_addr + table[t][i].r_offset), "this library calls it itself");
}

void hook_refused_read(struct hook_refused *r, const struct object *o)
{
    const struct link_map *own = real_own();
    struct hookable_walk walk = {0, NULL};
    char name[HOOKABLE_NAME_MAX];
    const char *why;

    r->n = 0;
    r->libc = o->has_symbols && elfsym_find(&o->symbols, HOOKABLE_LIBC);
    /* The object is not relocated perhaps, and no resolver may be called then: plain functions only. */
    while (o->has_symbols && hookable_refused(&walk, r->libc, name, &why)) {
        const ElfW(Sym) *y = elfsym_find(&o->symbols, name);
        if (y && ELF64_ST_TYPE(y->st_info) == STT_FUNC)
            hook_refused_add(r, o->bias + y->st_value, why);
    }
    if (own)
        hook_refused_own(r, own);
}

const char *hook_refused_at(const struct hook_refused *r, uintptr_t at)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->function[i].at == at)
            return r->function[i].why;
    return NULL;
}
