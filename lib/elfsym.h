/* elfsym: the dynamic symbols of an object that is loaded into this process, read from its own tables.
 *
 * Why not dlsym: it takes ld.so's lock, may allocate (dlerror), and other preloaded libraries interpose it. This reads
 * memory that ld.so has mapped and nothing else: no lock, no malloc, async-signal-safe, also on objects that are not
 * relocated yet. The caller guarantees that the object stays mapped. */
#ifndef GIVEBACK_ELFSYM_H
#define GIVEBACK_ELFSYM_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

struct elfsym {
    uintptr_t bias; /* what is added to every address in the file (link_map.l_addr) */
    const ElfW(Sym) *symbols;
    const char *strings;
    size_t strings_size;
    const uint32_t *gnu_hash;   /* NULL when there is none */
    const uint32_t *sysv_hash;  /* NULL when there is none */
    const ElfW(Half) *versions; /* DT_VERSYM, NULL when there is none */
    const char *soname;         /* NULL when there is none */
};

/* 0, or -ENOENT when the object has no symbol table or no hash table. */
int elfsym_read(struct elfsym *e, uintptr_t bias, const ElfW(Dyn) *dynamic);
/* The defined symbol of that name, its default version first, then any; NULL: none. */
const ElfW(Sym) *elfsym_find(const struct elfsym *e, const char *name);
/* How many symbols the table has (from the hash tables, which is the only place that tells). */
size_t elfsym_count(const struct elfsym *e);
/* The name of a symbol; "" when its offset is out of the table. */
const char *elfsym_name(const struct elfsym *e, const ElfW(Sym) *symbol);
/* Where it is: an IFUNC is resolved by calling its resolver, so the object must be relocated and it must not be a
 * handler that asks. */
void *elfsym_address(const struct elfsym *e, const ElfW(Sym) *symbol);

#endif
