/* When nothing came back the record says why, each reason in a host that really is in that state. */
#include "harness.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

/* One release of a victim; its record. */
static void look(const struct host_setup *s, char *record, size_t size)
{
    struct host h;
    host_start(&h, s);
    host_wait_line(&h, "ready");
    host_release(&h);
    host_record(&h, 0, record, size);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}

/* Nothing came back, and the sentence has this in it. */
static void check_reason(const char *record, const char *part)
{
    char reason[300];
    json_string(record, "reason", reason, sizeof reason);
    ck_assert_msg(strstr(reason, part) != NULL, "\"%s\" is not in the reason of %s", part, record);
    ck_assert_int_lt(json_number(record, "returned"), MIB);
}

static void look_at_state(const char *state, enum allocator a, const char *const *env, char *record, size_t size)
{
    const char *argv[] = {"states", state, NULL};
    look(&(struct host_setup){.argv = argv, .allocator = a, .place = FIRST, .env = env}, record, size);
}

static const enum allocator telling[] = {GLIBC, TCMALLOC, TCMALLOC_MINIMAL, JEMALLOC}; /* those that count what they hold */
#define TELLING ((int)(sizeof telling / sizeof *telling))

START_TEST(test_reason_nothing_held)
{
    char record[5000];
    if (!harness_allocator(telling[_i], "test_reason_nothing_held"))
        return;
    look_at_state("live", telling[_i], NULL, record, sizeof record);
    check_reason(record, "nothing is held");
}
END_TEST

START_TEST(test_reason_no_whole_page_is_free)
{
    char record[5000];
    if (!harness_allocator(telling[_i], "test_reason_no_whole_page_is_free"))
        return;
    look_at_state("fragmented", telling[_i], NULL, record, sizeof record);
    check_reason(record, "held, but no whole page of it can be returned");
}
END_TEST

START_TEST(test_reason_locked_pages)
{
    char record[5000];
    look_at_state("locked", GLIBC, NULL, record, sizeof record);
    check_reason(record, "VmLck");
    ck_assert_int_gt(json_number(record, "after.locked"), 100 * MIB);
}
END_TEST

START_TEST(test_reason_lazily_freed)
{
    char record[5000];
    look_at_state("lazy", GLIBC, NULL, record, sizeof record);
    check_reason(record, "LazyFree");
    ck_assert_int_gt(json_number(record, "after.lazyfree"), 100 * MIB);
}
END_TEST

START_TEST(test_reason_only_the_owning_thread_can)
{
    char record[5000];
    if (!harness_allocator(MIMALLOC, "test_reason_only_the_owning_thread_can"))
        return;
    look_at_state("fragmented", MIMALLOC, NULL, record, sizeof record);
    check_reason(record, "only their own threads can empty");
}
END_TEST

START_TEST(test_reason_allocator_cannot_be_reached)
{
    char record[5000];
    const char *argv[] = {"toymalloc", NULL};
    look(&(struct host_setup){.argv = argv, .place = FIRST}, record, sizeof record);
    check_reason(record, "malloc belongs to toymalloc, an allocator that cannot be reached");
}
END_TEST

/* In a mount namespace of its own, where /proc is an empty folder. */
static void hide_proc(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        _exit(125);
}

/* The release goes on, memory falls, and the record knows no figure. */
START_TEST(test_reason_proc_cannot_be_read)
{
    char record[5000], text[64];
    struct host h;
    const char *argv[] = {"hoard", "100000", NULL};
    if (geteuid() != 0) {
        harness_skip("test_reason_proc_cannot_be_read", "only root may hide /proc in a mount namespace");
        return;
    }
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .before_exec = hide_proc});
    host_wait_line(&h, "full");
    host_say(&h, "\n");
    host_wait_line(&h, "ready");
    int64_t before = host_anon(&h);
    host_release(&h);
    ck_assert_int_gt(before - host_anon(&h), 200 * MIB);
    host_record(&h, 0, record, sizeof record);
    json_string(record, "unreadable", text, sizeof text);
    ck_assert_str_eq(text, "ENOENT");
    ck_assert_msg(strstr(record, "\"returned\":null,\"seconds\"") != NULL, "a figure that nobody could read: %s", record);
    json_string(record, "reason", text, sizeof text);
    ck_assert_str_eq(text, "null");
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

/* smaps_rollup is read only when there is something to explain, or when the user wants it. */
START_TEST(test_reason_detail_only_where_it_is_needed)
{
    static const char *const full[] = {"GIVEBACK_DETAIL=full", NULL};
    char record[5000];
    struct host h;
    for (int detail = 0; detail < 2; detail++) {
        const char *argv[] = {"hoard", "100000", NULL};
        host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = detail ? full : NULL});
        host_wait_line(&h, "full");
        host_say(&h, "\n");
        host_wait_line(&h, "ready");
        host_release(&h);
        host_record(&h, 0, record, sizeof record);
        unsigned unread = 0;
        for (const char *at = record; (at = strstr(at, "\"pss_anon\":null")); at++)
            unread++;
        ck_assert_msg(unread == (detail ? 0 : 2), "with detail %d: %s", detail, record);
        ck_assert_int_eq(host_end(&h), 0);
        host_clean(&h);
    }
}
END_TEST

Suite *suite_reasons(void)
{
    Suite *s = suite_create("reasons");
    TCase *t = tcase_create("reasons");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_reason_nothing_held, 0, TELLING);
    tcase_add_loop_test(t, test_reason_no_whole_page_is_free, 0, TELLING);
    tcase_add_test(t, test_reason_locked_pages);
    tcase_add_test(t, test_reason_lazily_freed);
    tcase_add_test(t, test_reason_only_the_owning_thread_can);
    tcase_add_test(t, test_reason_allocator_cannot_be_reached);
    tcase_add_test(t, test_reason_proc_cannot_be_read);
    tcase_add_test(t, test_reason_detail_only_where_it_is_needed);
    suite_add_tcase(s, t);
    return s;
}
