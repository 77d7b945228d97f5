#include "elfsym.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* ld.so adds the load address to these entries in place where the dynamic section is writable, and leaves them as
 * offsets where it is not (the vDSO; every object on some machines). Addresses below the bias are offsets. */
static uintptr_t elfsym_pointer(uintptr_t bias, ElfW(Addr) value)
{
    return value < bias ? bias + value : value;
}

int elfsym_read(struct elfsym *e, uintptr_t bias, const ElfW(Dyn) *dynamic)
{
    size_t soname = 0;

    memset(e, 0, sizeof *e);
    e->bias = bias;
    for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
        uintptr_t at = elfsym_pointer(bias, d->d_un.d_ptr);
        switch (d->d_tag) {
        case DT_SYMTAB: e->symbols = (const ElfW(Sym) *)at; break;
        case DT_STRTAB: e->strings = (const char *)at; break;
        case DT_STRSZ: e->strings_size = d->d_un.d_val; break;
        case DT_GNU_HASH: e->gnu_hash = (const uint32_t *)at; break;
        case DT_HASH: e->sysv_hash = (const uint32_t *)at; break;
        case DT_VERSYM: e->versions = (const ElfW(Half) *)at; break;
        case DT_SONAME: soname = d->d_un.d_val; break;
        default: break;
        }
    }
    if (!e->symbols || !e->strings || (!e->gnu_hash && !e->sysv_hash))
        return -ENOENT;
    if (soname && soname < e->strings_size)
        e->soname = e->strings + soname;
    return 0;
}

const char *elfsym_name(const struct elfsym *e, const ElfW(Sym) *symbol)
{
    return symbol->st_name < e->strings_size ? e->strings + symbol->st_name : "";
}

static bool elfsym_matches(const struct elfsym *e, size_t index, const char *name)
{
    const ElfW(Sym) *s = &e->symbols[index];
    unsigned type = ELF64_ST_TYPE(s->st_info);

    return s->st_shndx != SHN_UNDEF && (s->st_value || type == STT_TLS) && type != STT_SECTION && type != STT_FILE &&
           strcmp(elfsym_name(e, s), name) == 0;
}

/* Bit 15 of a version index marks a symbol that only old binaries ask for (name@VERSION, not name@@VERSION). */
static bool elfsym_is_default(const struct elfsym *e, size_t index)
{
    return !e->versions || !(e->versions[index] & 0x8000);
}

static const ElfW(Sym) *elfsym_find_gnu(const struct elfsym *e, const char *name)
{
    uint32_t buckets = e->gnu_hash[0], first = e->gnu_hash[1], words = e->gnu_hash[2];
    const uint32_t *bucket = e->gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    const ElfW(Sym) *other = NULL;
    uint32_t hash = 5381;

    if (!buckets)
        return NULL;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = hash * 33 + *c;
    uint32_t i = bucket[hash % buckets];
    if (i < first)
        return NULL;
    for (;; i++) {
        uint32_t h = chain[i - first];
        if ((h | 1) == (hash | 1) && elfsym_matches(e, i, name)) {
            if (elfsym_is_default(e, i))
                return &e->symbols[i];
            other = &e->symbols[i];
        }
        if (h & 1)
            return other;
    }
}

static const ElfW(Sym) *elfsym_find_sysv(const struct elfsym *e, const char *name)
{
    uint32_t buckets = e->sysv_hash[0], hash = 0;
    const uint32_t *bucket = e->sysv_hash + 2, *chain = bucket + buckets;
    const ElfW(Sym) *other = NULL;

    if (!buckets)
        return NULL;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        hash = (hash << 4) + *c;
        hash ^= (hash >> 24) & 0xf0;
    }
    hash &= 0x0fffffff;
    for (uint32_t i = bucket[hash % buckets]; i; i = chain[i]) {
        if (!elfsym_matches(e, i, name))
            continue;
        if (elfsym_is_default(e, i))
            return &e->symbols[i];
        other = &e->symbols[i];
    }
    return other;
}

const ElfW(Sym) *elfsym_find(const struct elfsym *e, const char *name)
{
    return e->gnu_hash ? elfsym_find_gnu(e, name) : elfsym_find_sysv(e, name);
}

size_t elfsym_count(const struct elfsym *e)
{
    if (e->sysv_hash)
        return e->sysv_hash[1];

    uint32_t buckets = e->gnu_hash[0], first = e->gnu_hash[1], words = e->gnu_hash[2], last = 0;
    const uint32_t *bucket = e->gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;

    for (uint32_t i = 0; i < buckets; i++)
        if (bucket[i] > last)
            last = bucket[i];
    if (last < first)
        return first;
    while (!(chain[last - first] & 1))
        last++;
    return (size_t)last + 1;
}

void *elfsym_address(const struct elfsym *e, const ElfW(Sym) *symbol)
{
    uintptr_t at = symbol->st_shndx == SHN_ABS ? symbol->st_value : e->bias + symbol->st_value;

    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return ((void *(*)(void))at)();
    return (void *)at;
}
