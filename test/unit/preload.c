#include "preload.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

#define OWN "/opt/giveback/lib/libgiveback.so"

START_TEST(entries_are_recognised)
{
    static const struct {
        const char *entry;
        bool own;
    } cases[] = {{OWN, true},
                 {"libgiveback.so", true},
                 {"/opt/giveback/$LIB/libgiveback.so", true},
                 {"/opt/giveback/${LIB}/libgiveback.so", true},
                 {"$ORIGIN/libgiveback.so", true},
                 {"${ORIGIN}/../$LIB/libgiveback.so", false},
                 {"/opt/$PLATFORM/$LIB/libgiveback.so", true},
                 {"lib/libgiveback.so", true},
                 {"./libgiveback.so", true},
                 {"../giveback/lib/libgiveback.so", true},
                 {"", false},
                 {"/usr/lib/libgiveback.so", false},
                 {"/usr/$LIB/libgiveback.so", false},
                 {"/opt/giveback/$LIBS/libgiveback.so", false},
                 {"/opt/giveback/$lib/libgiveback.so", false},
                 {"/opt/giveback/${LIB/libgiveback.so", false},
                 {"libgiveback.so.1", false},
                 {"xlibgiveback.so", false},
                 {"giveback.so", false},
                 {"b/libgiveback.so", false},
                 {"./", false},
                 {"$LIB", false},
                 {"/", false},
                 {OWN "x", false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(preload_entry_is(cases[i].entry, strlen(cases[i].entry), OWN) == cases[i].own, "\"%s\"",
                      cases[i].entry);
    ck_assert(preload_entry_is("./lib/x.so", 10, "./lib/x.so"));
    ck_assert(!preload_entry_is("lib/x.so", 8, "./lib/x.so"));
    ck_assert(preload_entry_is("libgiveback.so:other", 14, OWN));
}
END_TEST

START_TEST(only_our_entry_goes)
{
    static const struct {
        const char *before, *after;
        unsigned dropped;
    } cases[] = {{OWN, "", 1},
                 {"", "", 0},
                 {"/a.so", "/a.so", 0},
                 {OWN ":/a.so", "/a.so", 1},
                 {"/a.so:" OWN, "/a.so", 1},
                 {"/a.so:" OWN ":/b.so", "/a.so:/b.so", 1},
                 {"/a.so " OWN " /b.so", "/a.so /b.so", 1},
                 {OWN ":" OWN, "", 2},
                 {"/a.so:libgiveback.so:" OWN ":/b.so", "/a.so:/b.so", 2},
                 {"  /a.so : /b.so ", "  /a.so : /b.so ", 0},
                 {" : ", " : ", 0},
                 {"/a.so:" OWN ": ", "/a.so: ", 1},
                 {"/x/libgiveback.so:" OWN "d", "/x/libgiveback.so:" OWN "d", 0},
                 {"/a.so\t" OWN, "/a.so\t" OWN, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char value[256];
        strcpy(value, cases[i].before);
        ck_assert_msg(preload_drop(value, OWN) == cases[i].dropped, "\"%s\"", cases[i].before);
        ck_assert_str_eq(value, cases[i].after);
    }
}
END_TEST

START_TEST(paths_are_expanded)
{
    static const struct {
        const char *pattern, *path;
    } cases[] = {{"/tmp/x", "/tmp/x"},
                 {"%p", "4242"},
                 {"/tmp/%n.%p.log", "/tmp/my_prog.4242.log"},
                 {"100%%", "100%"},
                 {"%%p%p", "%p4242"}};
    char out[64];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(preload_expand(cases[i].pattern, 4242, "my/prog", out, sizeof out), 0);
        ck_assert_str_eq(out, cases[i].path);
    }
    ck_assert_int_eq(preload_expand("a%", 1, "x", out, sizeof out), -EINVAL);
    ck_assert_int_eq(preload_expand("a%d", 1, "x", out, sizeof out), -EINVAL);
    ck_assert_int_eq(preload_expand("%n%n", 1, "0123456789012345678901234567890", out, 63), 0);
    ck_assert_int_eq(preload_expand("%n%n", 1, "0123456789012345678901234567890", out, 62), -ENAMETOOLONG);
}
END_TEST

Suite *suite_preload(void)
{
    const TTest *const tests[] = {entries_are_recognised, only_our_entry_goes, paths_are_expanded, NULL};

    return unit_suite("preload", tests);
}
