/* ehframe: sizes of functions by the unwind tables of what is loaded here, against its symbol tables. */
#include "ehframe.h"

#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elfsym.h"
#include "unit.h"

struct loaded {
    struct ehframe e;
    struct elfsym symbols;
    bool found;
};

/* Of libc: the tables, and the segment that holds them. */
static int visit(struct dl_phdr_info *i, size_t size, void *context)
{
    struct loaded *l = context;

    (void)size;
    if (!i->dlpi_name || !strstr(i->dlpi_name, "libc.so"))
        return 0;
    for (size_t k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type == PT_GNU_EH_FRAME)
            l->e.header = i->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC)
            l->found = elfsym_read(&l->symbols, i->dlpi_addr, (const ElfW(Dyn) *)(i->dlpi_addr + p->p_vaddr)) == 0;
    }
    for (size_t k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type == PT_LOAD && l->e.header - i->dlpi_addr - p->p_vaddr < p->p_filesz) {
            l->e.at = i->dlpi_addr + p->p_vaddr;
            l->e.memory = (const unsigned char *)l->e.at;
            l->e.size = p->p_filesz;
        }
    }
    return 1;
}

START_TEST(sizes_are_those_of_the_symbol_table)
{
    struct loaded l = {.found = false};
    size_t same = 0, other = 0, n;

    dl_iterate_phdr(visit, &l);
    ck_assert(l.found && l.e.memory && l.e.header);
    n = elfsym_count(&l.symbols);
    for (size_t i = 1; i < n; i++) {
        const ElfW(Sym) *y = &l.symbols.symbols[i];
        uint64_t size = ehframe_size(&l.e, l.symbols.bias + y->st_value);
        if (ELF64_ST_TYPE(y->st_info) != STT_FUNC || y->st_shndx == SHN_UNDEF)
            continue;
        same += size == y->st_size;
        other += size && size != y->st_size;
        ck_assert_uint_eq(ehframe_size(&l.e, l.symbols.bias + y->st_value + 1), 0); /* no function begins there */
    }
    /* hand-written ones have tables in parts, or symbols that do not cover all (glibc 2.36: 2,761 the same, 3 others) */
    ck_assert_msg(same > 1500 && other * 20 < same, "%zu the same, %zu others", same, other);
}
END_TEST

/* Cut off anywhere, and with any byte of its tables changed: 0 or a size, and no read outside (a sanitizer sees it). */
START_TEST(broken_tables_are_not_known)
{
    static const unsigned char sound[] = {
        /* header at 0: .eh_frame is at 24, one entry: function 256 bytes behind, its entry at 48 */
        1, 0x1b, 3, 0x3b, 20, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0,
        /* common entry: zR */
        20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0, 0, 0, 0, 0, 0, 0,
        /* the function's: 24 back from 52, 256 - 56, 77 bytes */
        16, 0, 0, 0, 28, 0, 0, 0, 200, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0,
    };
    struct ehframe e = {.at = 0x10000, .header = 0x10000};

    for (size_t n = 0; n <= sizeof sound; n++) {
        unsigned char *copy = malloc(n ? n : 1);
        memcpy(copy, sound, n);
        e.memory = copy;
        e.size = n;
        ck_assert_uint_eq(ehframe_size(&e, 0x10100), n >= 64 ? 77 : 0);
        for (size_t i = 0; i < n; i++) {
            copy[i] ^= 0xff;
            (void)ehframe_size(&e, 0x10100);
            copy[i] ^= 0xff;
        }
        free(copy);
    }
}
END_TEST

Suite *suite_ehframe(void)
{
    const TTest *const tests[] = {sizes_are_those_of_the_symbol_table, broken_tables_are_not_known, NULL};

    return unit_suite("ehframe", tests);
}
