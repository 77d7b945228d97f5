#include "elfsym.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/lib-names.h>
#include <stdlib.h>
#include <string.h>

/* libc as ld.so has it, and our view of it. */
struct library {
    void *handle;
    struct elfsym e;
    const ElfW(Verdef) * versions;
    size_t n_versions;
};

static struct library library_open(const char *name)
{
    struct library l = {dlopen(name, RTLD_NOW), {0}, NULL, 0};
    struct link_map *map;

    ck_assert_ptr_nonnull(l.handle);
    ck_assert_int_eq(dlinfo(l.handle, RTLD_DI_LINKMAP, &map), 0);
    ck_assert_int_eq(elfsym_read(&l.e, map->l_addr, map->l_ld), 0);
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_VERDEF) /* glibc's ld.so leaves this one an offset */
            l.versions =
                (const ElfW(Verdef) *)(d->d_un.d_ptr < map->l_addr ? map->l_addr + d->d_un.d_ptr : d->d_un.d_ptr);
        if (d->d_tag == DT_VERDEFNUM)
            l.n_versions = d->d_un.d_val;
    }
    return l;
}

/* The name of a version by its index, NULL when the object defines none of that index. */
static const char *version_name(const struct library *l, unsigned index)
{
    const char *at = (const char *)l->versions;

    for (size_t i = 0; i < l->n_versions; i++) {
        const ElfW(Verdef) *version = (const void *)at;
        const ElfW(Verdaux) *name = (const void *)(at + version->vd_aux);
        if (version->vd_ndx == index)
            return l->e.strings + name->vda_name;
        at += version->vd_next;
    }
    return NULL;
}

static int is_comparable(const ElfW(Sym) * s)
{
    unsigned type = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);

    return s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS && (bind == STB_GLOBAL || bind == STB_WEAK) &&
           (type == STT_FUNC || type == STT_OBJECT);
}

/* Each symbol by its name is what dlsym says; where dlsym says nothing, because only versions of the past are there,
 * it is one of those. */
static unsigned compare_all(const struct library *l)
{
    unsigned compared = 0;

    for (size_t i = 0, n = elfsym_count(&l->e); i < n; i++) {
        const ElfW(Sym) *s = &l->e.symbols[i];
        const char *name = elfsym_name(&l->e, s), *version = version_name(l, l->e.versions[i] & 0x7fff);
        if (!is_comparable(s) || !version)
            continue;
        ck_assert_msg(dlvsym(l->handle, name, version) == elfsym_address(&l->e, s), "%s@%s", name, version);
        const ElfW(Sym) *found = elfsym_find(&l->e, name);
        ck_assert_msg(found != NULL, "%s is not found", name);
        void *expected = dlsym(l->handle, name);
        if (!expected)
            expected = dlvsym(l->handle, name, version_name(l, l->e.versions[found - l->e.symbols] & 0x7fff));
        if (ELF64_ST_TYPE(found->st_info) != STT_GNU_IFUNC)
            ck_assert_msg(elfsym_address(&l->e, found) == expected, "%s@%s", name, version);
        compared++;
    }
    return compared;
}

START_TEST(every_symbol_of_libc_is_what_dlsym_says)
{
    struct library l = library_open(LIBC_SO);

    ck_assert_ptr_nonnull(l.e.gnu_hash);
    ck_assert_str_eq(l.e.soname, LIBC_SO);
    ck_assert_uint_gt(compare_all(&l), 2000);
}
END_TEST

START_TEST(the_same_by_the_old_hash_table)
{
    struct library l = library_open(LIBC_SO);
    size_t count = elfsym_count(&l.e);

    if (l.e.sysv_hash) { /* the distribution decides whether libc has one */
        l.e.gnu_hash = NULL;
        ck_assert_uint_gt(compare_all(&l), 2000);
        ck_assert_uint_eq(elfsym_count(&l.e), count);
        ck_assert_ptr_null(elfsym_find(&l.e, "no_such_function"));
    } else {
        ck_abort_msg("this libc has no DT_HASH: the old table is not tested here");
    }
}
END_TEST

START_TEST(an_ifunc_is_resolved)
{
    struct library l = library_open(LIBC_SO);
    const ElfW(Sym) *s = elfsym_find(&l.e, "memcpy");

    ck_assert_ptr_nonnull(s);
    ck_assert_ptr_eq(elfsym_address(&l.e, s), dlsym(l.handle, "memcpy"));
}
END_TEST

START_TEST(what_is_not_defined_is_not_found)
{
    struct library l = library_open(LIBC_SO);

    ck_assert_ptr_null(elfsym_find(&l.e, "no_such_function"));
    ck_assert_ptr_null(elfsym_find(&l.e, ""));
    ck_assert_ptr_null(elfsym_find(&l.e, "__tls_get_addr")); /* libc asks ld.so for it */
    ck_assert_uint_gt(elfsym_count(&l.e), 2000);
    ck_assert_str_eq(elfsym_name(&l.e, &(ElfW(Sym)){.st_name = UINT32_MAX}), "");
}
END_TEST

START_TEST(an_object_without_symbols_is_refused)
{
    const ElfW(Dyn) nothing[] = {{.d_tag = DT_NULL}};
    struct elfsym e;

    ck_assert_int_eq(elfsym_read(&e, 0, nothing), -ENOENT);
    ck_assert_int_eq(elfsym_read(&e, 0, NULL), -ENOENT);
}
END_TEST

Suite *suite_elfsym(void)
{
    const TTest *const tests[] = {
        every_symbol_of_libc_is_what_dlsym_says, the_same_by_the_old_hash_table,       an_ifunc_is_resolved,
        what_is_not_defined_is_not_found,        an_object_without_symbols_is_refused, NULL};

    return unit_suite("elfsym", tests);
}
