/* hookable: the names that are never hooked, and the reasons that lie in an object or in a symbol's place. */
#include "hookable.h"

#include <string.h>

#include "unit.h"

START_TEST(test_names)
{
    static const char *const refused[] = {"malloc", "free", "_int_free", "sysmalloc_mmap", "tc_new", "_Znwm", "_ZdlPv", "munmap", "setjmp", "dlopen",
                                          "f.isra.0", "f.cold", "f.part.1.cold", "__x86_indirect_thunk_rax"};
    static const char *const allowed[] = {"mallo", "mallocs", "frees", "main", "f", "_ZN1nE", "cold", "isra", "strtol", "pthread_create"};

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ck_assert_msg(hookable_name(refused[i], false) != NULL, "%s", refused[i]);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        ck_assert_msg(hookable_name(allowed[i], i % 2) == NULL, "%s: %s", allowed[i], hookable_name(allowed[i], i % 2));
    ck_assert_str_eq(hookable_name("memcpy", true), "this library calls it itself");
    ck_assert_str_eq(hookable_name("__strlen_avx2", true), "this library calls it itself");
    ck_assert_ptr_null(hookable_name("memcpy", false)); /* a program may have one of its own */
}
END_TEST

/* Each of those is a plain name that is refused for that very reason; malloc is among them, patterns are not. */
START_TEST(test_refused_names_one_by_one)
{
    char name[HOOKABLE_NAME_MAX];
    struct hookable_walk walk = {0, NULL}, again = {0, NULL};
    bool malloc_is_there = false;
    const char *why;
    size_t n = 0;

    for (; hookable_refused(&walk, true, name, &why); n++) {
        ck_assert_msg(strlen(name) && !strpbrk(name, "*?[") && hookable_name(name, true) == why, "%s", name);
        malloc_is_there |= strcmp(name, "malloc") == 0;
    }
    ck_assert(malloc_is_there);
    ck_assert(!hookable_refused(&walk, true, name, &why));
    while (hookable_refused(&again, false, name, &why))
        ck_assert_str_ne(name, "getauxval");
    ck_assert_uint_gt(n, 60);
    ck_assert_uint_lt(n, 128); /* shim/hook_refuse.h has room for them, and for what the library imports */
}
END_TEST

START_TEST(test_objects)
{
    ElfW(Dyn) plain[] = {{.d_tag = DT_FLAGS, .d_un = {.d_val = DF_BIND_NOW}}, {.d_tag = DT_NULL}, {.d_tag = DT_TEXTREL}};
    ElfW(Dyn) flag[] = {{.d_tag = DT_FLAGS, .d_un = {.d_val = DF_TEXTREL}}, {.d_tag = DT_NULL}};
    struct hookable_object o = {.dynamic = plain, .n_dynamic = 3};

    ck_assert_ptr_null(hookable_object(&o)); /* nothing counts behind DT_NULL */
    o.dynamic = plain + 2;
    o.n_dynamic = 1; /* no DT_NULL at all */
    ck_assert_str_eq(hookable_object(&o), "its object has text relocations");
    o.dynamic = flag;
    ck_assert_str_eq(hookable_object(&o), "its object has text relocations");
    o.linker = true;
    ck_assert_str_eq(hookable_object(&o), "it is ld.so's own, which no release may interrupt");
    o.vdso = true;
    ck_assert_str_eq(hookable_object(&o), "it is the kernel's");
    o.own = true;
    ck_assert_str_eq(hookable_object(&o), "it is this library's own");
}
END_TEST

START_TEST(test_places)
{
    static const ElfW(Phdr) segments[] = {{.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0, .p_filesz = 0x1000},
                                          {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x1000, .p_filesz = 0x800, .p_memsz = 0x1000},
                                          {.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x2000, .p_filesz = 0x800, .p_memsz = 0x800}};
    const struct hookable_object o = {.segments = segments, .n_segments = 3};
    const char *none = "it does not lie in its object's code, or that cannot be read";

    ck_assert_ptr_null(hookable_place(&o, 0x1000, 0x800));
    ck_assert_ptr_null(hookable_place(&o, 0x17ff, 1));
    ck_assert_str_eq(hookable_place(&o, 0x1000, 0), "how long it is stands in no table");
    ck_assert_str_eq(hookable_place(&o, 0x17ff, 2), none);
    ck_assert_str_eq(hookable_place(&o, 0x1800, 1), none);
    ck_assert_str_eq(hookable_place(&o, 0xfff, 1), none);
    ck_assert_str_eq(hookable_place(&o, 0x2000, 0x10), none);
    ck_assert_str_eq(hookable_place(&o, 0x1001, UINT64_MAX), none);
    ck_assert_ptr_null(hookable_type(STT_FUNC));
    ck_assert_ptr_null(hookable_type(STT_GNU_IFUNC));
    ck_assert_str_eq(hookable_type(STT_OBJECT), "it is data");
}
END_TEST

Suite *suite_hookable(void)
{
    Suite *suite = suite_create("hookable");
    TCase *c = tcase_create("hookable");

    tcase_add_test(c, test_names);
    tcase_add_test(c, test_refused_names_one_by_one);
    tcase_add_test(c, test_objects);
    tcase_add_test(c, test_places);
    suite_add_tcase(suite, c);
    return suite;
}
