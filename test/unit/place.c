#include "place.h"
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static char path[100];
static size_t parent;

static int folder(unsigned i, const char *named, const char *runtime)
{
    return place_folder(i, named, runtime, 1000, path, sizeof path, &parent);
}

START_TEST(folders_in_their_order)
{
    ck_assert_int_eq(folder(0, "", "/run/mine"), 0);
    ck_assert_str_eq(path, "/run/mine/giveback");
    ck_assert_uint_eq(parent, strlen("/run/mine"));
    ck_assert_int_eq(folder(1, "", "/run/mine"), 0);
    ck_assert_str_eq(path, "/run/user/1000/giveback");
    ck_assert_int_eq(folder(2, "", "/run/mine"), 0);
    ck_assert_str_eq(path, "/tmp/giveback-1000");
    ck_assert_uint_eq(parent, 0);
    ck_assert_int_eq(folder(3, "", "/run/mine"), -ENOENT);
    ck_assert_int_eq(folder(0, "", ""), 0);
    ck_assert_str_eq(path, "/run/user/1000/giveback");
    ck_assert_int_eq(folder(2, "", ""), -ENOENT);
    ck_assert_int_eq(folder(0, "/named", "/run/mine"), 0);
    ck_assert_str_eq(path, "/named");
    ck_assert_int_eq(folder(1, "/named", "/run/mine"), -ENOENT);
    ck_assert_int_eq(place_folder(0, "/named", "", 0, path, 4, &parent), -ENAMETOOLONG);
    place_name(42, path, sizeof path);
    ck_assert_str_eq(path, "42.sock");
}
END_TEST

/* mode, owner; for a folder: what may be wrong with it at all, and for one that is to be private. */
static const struct {
    mode_t mode;
    unsigned uid;
    bool bad, bad_only;
} folders[] = {{S_IFDIR | 0700, 1000, false, false}, {S_IFDIR | 0755, 1000, false, true},       {S_IFDIR | 0755, 0, false, true},
               {S_IFDIR | S_ISVTX | 0777, 0, false, true}, {S_IFDIR | 0777, 0, true, true},     {S_IFDIR | 0770, 1000, true, true},
               {S_IFDIR | 0700, 1001, true, true},   {S_IFLNK | 0777, 1000, true, true},        {S_IFREG | 0700, 1000, true, true},
               {S_IFDIR | S_ISVTX | 0777, 1001, true, true}, {S_IFDIR | 0700, 0, false, true}};

START_TEST(a_folder_that_others_could_change_is_refused)
{
    struct stat st = {.st_mode = folders[_i].mode, .st_uid = folders[_i].uid};

    ck_assert_int_eq(place_folder_wrong(&st, 1000, false) != NULL, folders[_i].bad);
    ck_assert_int_eq(place_folder_wrong(&st, 1000, true) != NULL, folders[_i].bad_only);
}
END_TEST

START_TEST(a_file_of_another_kind_or_user_is_refused)
{
    struct stat st = {.st_mode = S_IFIFO | 0600, .st_uid = 1000};

    ck_assert_ptr_eq(place_file_wrong(&st, 1000, S_IFIFO), NULL);
    ck_assert_ptr_ne(place_file_wrong(&st, 1000, S_IFSOCK), NULL);
    ck_assert_ptr_ne(place_file_wrong(&st, 0, S_IFIFO), NULL);
    st.st_mode = S_IFIFO | 0622;
    ck_assert_ptr_ne(place_file_wrong(&st, 1000, S_IFIFO), NULL);
    st.st_mode = S_IFSOCK | 0777;
    ck_assert_ptr_eq(place_file_wrong(&st, 1000, S_IFSOCK), NULL);
}
END_TEST

Suite *suite_place(void)
{
    Suite *s = suite_create("place");
    TCase *t = tcase_create("place");
    tcase_add_test(t, folders_in_their_order);
    tcase_add_loop_test(t, a_folder_that_others_could_change_is_refused, 0, sizeof folders / sizeof *folders);
    tcase_add_test(t, a_file_of_another_kind_or_user_is_refused);
    suite_add_tcase(s, t);
    return s;
}
