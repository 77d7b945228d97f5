/* Further copies of an allocator in one process: linked into an object or the program, under a prefix, not exported. */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

/* jemalloc's thread state needs more static TLS than glibc sets aside for objects that come late. */
static const char *const env[] = {"GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384", NULL};

/* Built by test/copies/build; good until the next call but one. */
static const char *copy_path(const char *name)
{
    static char path[2][400];
    static int turn;
    turn = !turn;
    (void)snprintf(path[turn], sizeof path[turn], "%s/copies/%s", harness_build(), name);
    return path[turn];
}

static void plugged_start(struct host *h, const char *object, const char *size, enum place p)
{
    const char *argv[] = {"plugged", object, size, NULL};
    host_start(h, &(struct host_setup){.argv = argv, .place = p, .env = env});
    host_wait_line(h, "ready");
}

/* One release; by how much the host's RssAnon fell, and the record. */
static int64_t plugged_release(struct host *h, unsigned n, char *record, size_t size)
{
    int64_t before = host_anon(h);
    host_release(h);
    host_record(h, n, record, size);
    return before - host_anon(h);
}

static void plugged_end(struct host *h)
{
    ck_assert_int_eq(host_end(h), 0);
    host_clean(h);
}

/* Without the library the object's allocator keeps 30 MiB and more of what was freed. */
static void check_keeps(const char *object)
{
    struct host h;
    plugged_start(&h, object, "1000", WITHOUT);
    ck_assert_int_gt(host_anon(&h), 30 * MIB);
    plugged_end(&h);
}

/* With a build-id in it, and without: then the bytes decide. */
static const char *const known[] = {"private_jemalloc.so", "nameless_jemalloc.so"};

START_TEST(test_copy_in_an_object_is_found_by_its_symtab)
{
    char record[5000], call[200];
    struct host h;
    check_keeps(copy_path(known[_i]));
    plugged_start(&h, copy_path(known[_i]), "1000", FIRST);
    int64_t fell = plugged_release(&h, 0, record, sizeof record);
    ck_assert_msg(fell > 30 * MIB, "fell by %ld KiB: %s", (long)(fell >> 10), record);
    (void)snprintf(call, sizeof call, "\"call\":\"%s:my_mallctl\"", known[_i]);
    ck_assert_msg(strstr(record, call) != NULL, "%s is not in %s", call, record);
    plugged_end(&h);
}
END_TEST

/* Closed after a release, the object is still there when the worker's thread ends, which runs a destructor in it. */
START_TEST(test_copy_in_an_object_that_is_closed_does_no_harm)
{
    char record[5000];
    struct host h;
    plugged_start(&h, copy_path(known[0]), "1000", FIRST);
    ck_assert_int_gt(plugged_release(&h, 0, record, sizeof record), 30 * MIB);
    host_say(&h, "\n");
    host_wait_line(&h, "closed");
    host_wait_worker(&h, false);
    (void)plugged_release(&h, 1, record, sizeof record);
    host_wait_worker(&h, false);
    plugged_end(&h);
}
END_TEST

static void copy_file(const char *from, const char *to)
{
    char command[1000];
    (void)snprintf(command, sizeof command, "cp '%s' '%s.new' && mv '%s.new' '%s'", from, to, to, to);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static const char *const other[] = {"other_jemalloc.so", "other_nameless_jemalloc.so"};

/* An upgrade has put another build in the file's place: its symbols lie elsewhere, and must not be called. */
START_TEST(test_copy_whose_file_was_replaced_is_left_alone)
{
    char path[400], record[5000];
    struct host h;
    (void)snprintf(path, sizeof path, "%s/scratch/replaced.%d.so", harness_build(), (int)getpid());
    copy_file(copy_path(known[_i]), path);
    plugged_start(&h, path, "1000", FIRST);
    copy_file(copy_path(other[_i]), path);
    ck_assert_int_lt(plugged_release(&h, 0, record, sizeof record), MIB);
    ck_assert_msg(strstr(record, "mallctl") == NULL, "a function of another file was called: %s", record);
    plugged_end(&h);
    ck_assert(unlink(path) == 0);
}
END_TEST

/* Nothing tells where its functions are. */
START_TEST(test_copy_without_any_symbol_is_left_alone)
{
    char record[5000];
    struct host h;
    plugged_start(&h, copy_path("stripped_jemalloc.so"), "1000", FIRST);
    ck_assert_int_lt(plugged_release(&h, 0, record, sizeof record), MIB);
    ck_assert_msg(strstr(record, "\"name\":\"jemalloc\"") == NULL, "%s", record);
    plugged_end(&h);
}
END_TEST

START_TEST(test_copy_that_is_only_loaded_gets_no_line)
{
    char record[5000];
    struct host h;
    plugged_start(&h, copy_path(known[0]), NULL, FIRST);
    (void)plugged_release(&h, 0, record, sizeof record);
    ck_assert_msg(strstr(record, "\"name\":\"jemalloc\"") == NULL, "%s", record);
    plugged_end(&h);
}
END_TEST

/* Objects come and go while they are searched and called: none may be read or called when it is gone. (Debian's own
 * allocators do not stand being closed in a program with threads, nor does a jemalloc inside an object.) */
START_TEST(test_copy_may_come_and_go_during_releases)
{
    char path[3][400], record[5000];
    const char *argv[] = {"reload", path[0], path[1], path[2], "libtbb.so.12", NULL};
    struct host h;
    for (int i = 0; i < 3; i++) {
        (void)snprintf(path[i], sizeof path[i], "%s/scratch/fleeting.%d.%d.so", harness_build(), (int)getpid(), i);
        copy_file(harness_victim("libfleeting.so"), path[i]);
    }
    for (enum place p = WITHOUT; p <= FIRST; p++) {
        host_start(&h, &(struct host_setup){.argv = argv, .place = p});
        host_wait_line(&h, "ready");
        close(h.in);
        h.in = -1;
        if (p == FIRST)
            ck_assert_uint_gt(host_storm(&h, SIGUSR1, 1000), 100);
        ck_assert_int_eq(host_end(&h), 0);
        if (p == WITHOUT)
            host_clean(&h);
    }
    host_record(&h, host_records(&h) - 1, record, sizeof record);
    ck_assert_msg(host_count_log(&h, ":MallocExtension_ReleaseFreeMemory") > 0, "none was ever called: %s", record);
    host_clean(&h);
    for (int i = 0; i < 3; i++)
        ck_assert(unlink(path[i]) == 0);
}
END_TEST

/* Its malloc is exported, since libraries ask for it; what releases stands in .symtab only. */
START_TEST(test_copy_in_the_program_is_found_by_its_symtab)
{
    char record[5000];
    struct host h;
    const char *argv[] = {copy_path("hoard_tcmalloc"), "1000000", NULL};
    for (enum place p = WITHOUT; p <= FIRST; p++) {
        host_start(&h, &(struct host_setup){.argv = argv, .place = p});
        host_wait_line(&h, "full");
        host_say(&h, "\n");
        host_wait_line(&h, "ready");
        ck_assert_int_gt(host_anon(&h), 400 * MIB);
        if (p == FIRST) {
            ck_assert_int_gt(plugged_release(&h, 0, record, sizeof record), 250 * MIB);
            ck_assert_msg(strstr(record, "hoard_tcmalloc:MallocExtension_ReleaseFreeMemory") != NULL, "%s", record);
        }
        plugged_end(&h);
    }
}
END_TEST

Suite *suite_copies(void)
{
    Suite *s = suite_create("copies");
    TCase *t = tcase_create("copies");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_copy_in_an_object_is_found_by_its_symtab, 0, 2);
    tcase_add_test(t, test_copy_in_an_object_that_is_closed_does_no_harm);
    tcase_add_loop_test(t, test_copy_whose_file_was_replaced_is_left_alone, 0, 2);
    tcase_add_test(t, test_copy_without_any_symbol_is_left_alone);
    tcase_add_test(t, test_copy_that_is_only_loaded_gets_no_line);
    tcase_add_test(t, test_copy_may_come_and_go_during_releases);
    tcase_add_test(t, test_copy_in_the_program_is_found_by_its_symtab);
    suite_add_tcase(s, t);
    return s;
}
