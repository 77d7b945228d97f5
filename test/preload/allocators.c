/* Every allocator gives back what its own call would, the record says what the kernel says, and credits the right one. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define MIB (INT64_C(1) << 20)
#define KEPT_ENOUGH (20 * MIB)     /* jemalloc keeps 100 of the 256 MiB, TBB 27: they return the rest as it is freed */

/* As records name them, and what is called. */
static const struct {
    const char *name, *version, *call;
    const char *block; /* of which size this one keeps what is freed, in the same way every time */
} known_table[ALLOCATORS] = {
    [GLIBC] = {"glibc", "2.", "libc.so.6:malloc_trim", "100000"},
    [TCMALLOC] = {"tcmalloc", "2.", "libtcmalloc.so.4:MallocExtension_ReleaseFreeMemory", "1000000"},
    [TCMALLOC_MINIMAL] = {"tcmalloc", "2.", "libtcmalloc_minimal.so.4:MallocExtension_ReleaseFreeMemory", "1000000"},
    [JEMALLOC] = {"jemalloc", "5.", "libjemalloc.so.2:mallctl", "100000"},
    [MIMALLOC] = {"mimalloc", "2.", "libmimalloc.so.2.0:mi_collect", "100000"},
    [TBB] = {"TBB", "null", "libtbbmalloc.so.2:scalable_allocation_command", "1000000"},
};

static void hoard_start(struct host *h, enum allocator a, enum place p, const char *self)
{
    const char *argv[] = {"hoard", known_table[a].block, self, NULL};
    host_start(h, &(struct host_setup){.argv = argv, .allocator = a, .place = p});
    host_wait_line(h, "full");
}

static void hoard_free(struct host *h)
{
    host_say(h, "\n");
    host_wait_line(h, "ready");
}

/* Without the library it keeps its memory, and its own call gives it back. What is resident after that call. */
static int64_t hoard_alone(enum allocator a)
{
    struct host idle, twin;
    hoard_start(&idle, a, WITHOUT, NULL);
    hoard_start(&twin, a, WITHOUT, "self");
    hoard_free(&idle);
    hoard_free(&twin);
    int64_t kept = host_anon(&idle), own = host_anon(&twin);
    ck_assert_msg(kept > own + KEPT_ENOUGH, "%s returned it by itself: %ld MiB, %ld MiB after its own call", allocator_name(a),
                  (long)(kept / MIB), (long)(own / MIB));
    ck_assert_int_eq(host_end(&idle), 0);
    ck_assert_int_eq(host_end(&twin), 0);
    host_clean(&idle);
    host_clean(&twin);
    return own;
}

/* The entry of an allocator in a record, cut out of it. */
static void record_entry(const char *record, const char *call, char *entry, size_t size)
{
    char key[200];
    (void)snprintf(key, sizeof key, "\"call\":\"%s\"", call);
    const char *at = strstr(record, key), *from = at, *to = at ? strchr(at, '}') : NULL;
    ck_assert_msg(at && to, "no entry for %s in %s", call, record);
    while (*from != '{')
        from--;
    (void)snprintf(entry, size, "%.*s", (int)(to - from + 1), from);
}

static void check_record(enum allocator a, const char *record, int64_t before, int64_t after)
{
    char entry[600], text[64];
    ck_assert_msg(llabs(json_number(record, "before.anon") - before) < MIB, "before: %ld outside, %s", (long)before, record);
    ck_assert_msg(llabs(json_number(record, "after.anon") - after) < MIB, "after: %ld outside, %s", (long)after, record);
    record_entry(record, known_table[a].call, entry, sizeof entry);
    json_string(entry, "name", text, sizeof text);
    ck_assert_str_eq(text, known_table[a].name);
    json_string(entry, "version", text, sizeof text);
    ck_assert_msg(strncmp(text, known_table[a].version, strlen(known_table[a].version)) == 0, "version %s", text);
    int64_t returned = json_number(record, "returned"), credit = json_number(entry, "returned");
    ck_assert_msg(llabs(returned - credit) < MIB, "%s is credited with %ld of %ld", text, (long)credit, (long)returned);
}

START_TEST(test_allocator_gives_back_what_its_own_call_would)
{
    enum allocator a = CELL_ALLOCATOR(_i);
    char record[5000];
    struct host h;
    if (!harness_allocator(a, "test_allocator_gives_back_what_its_own_call_would"))
        return;
    int64_t own = hoard_alone(a);
    hoard_start(&h, a, CELL_PLACE(_i), NULL);
    hoard_free(&h);
    int64_t before = host_anon(&h);
    host_release(&h);
    int64_t after = host_anon(&h);
    ck_assert_msg(before > own + KEPT_ENOUGH, "it kept nothing under the library: %ld MiB", (long)(before / MIB));
    ck_assert_msg(after <= own + own / 50, "%ld KiB, and %ld KiB after its own call", (long)(after >> 10), (long)(own >> 10));
    host_record(&h, 0, record, sizeof record);
    check_record(a, record, before, after);
    host_release(&h); /* a second one finds nothing and says that nothing came back */
    host_record(&h, 1, record, sizeof record);
    ck_assert_int_lt(json_number(record, "returned"), MIB);
    ck_assert_int_lt(json_number(record, "came_back"), MIB);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

/* glibc's code is in every process; where another allocator serves and glibc's heap was never used it gets no line. */
START_TEST(test_allocator_that_is_not_in_use_gets_no_line)
{
    char record[5000];
    struct host h;
    if (!harness_allocator(TCMALLOC, "test_allocator_that_is_not_in_use_gets_no_line"))
        return;
    const char *argv[] = {"hoard", "100000", NULL};
    host_start(&h, &(struct host_setup){.argv = argv, .allocator = TCMALLOC, .place = LAST,
                                        .preload = "libtbbmalloc.so.2:libmimalloc.so.2.0:"});
    host_wait_line(&h, "full");
    hoard_free(&h);
    host_release(&h);
    host_record(&h, 0, record, sizeof record);
    ck_assert_msg(strstr(record, "\"name\":\"mimalloc\"") != NULL, "it serves malloc: %s", record);
    ck_assert_msg(strstr(record, "\"name\":\"TBB\"") == NULL, "TBB is only loaded: %s", record);
    ck_assert_msg(strstr(record, "\"name\":\"glibc\"") == NULL, "glibc's heap was never used: %s", record);
    ck_assert_msg(strstr(record, "\"name\":\"tcmalloc\"") == NULL, "tcmalloc is only loaded: %s", record);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

/* GIVEBACK_CALL: the function is called before the allocators; one that is nowhere is an error in the record. */
START_TEST(test_allocator_calls_the_functions_of_the_user)
{
    static const char *const env[] = {"GIVEBACK_CALL=give_more,libc.so.*:getpid;nowhere_at_all", NULL};
    const char *argv[] = {"called", NULL};
    char record[5000], entry[600], text[64];
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env});
    host_wait_line(&h, "ready");
    host_release(&h);
    host_record(&h, 0, record, sizeof record);
    record_entry(record, "called:give_more", entry, sizeof entry);
    ck_assert_int_gt(json_number(entry, "returned"), 63 * MIB);
    record_entry(record, "libc.so.6:getpid", entry, sizeof entry);
    record_entry(record, "nowhere_at_all", entry, sizeof entry);
    json_string(entry, "error", text, sizeof text);
    ck_assert_str_eq(text, "ENOENT");
    ck_assert_msg(strstr(record, "give_more") < strstr(record, "malloc_trim"), "after the allocators: %s", record);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

Suite *suite_allocators(void)
{
    Suite *s = suite_create("allocators");
    TCase *t = tcase_create("matrix");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_allocator_gives_back_what_its_own_call_would, 0, CELLS);
    tcase_add_test(t, test_allocator_that_is_not_in_use_gets_no_line);
    tcase_add_test(t, test_allocator_calls_the_functions_of_the_user);
    suite_add_tcase(s, t);
    return s;
}
