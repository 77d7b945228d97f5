#include "record.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../json.h"

#define MIB (INT64_C(1) << 20)

static struct record r;
static char line[RECORD_MAX];

static struct record_allocator *add(const char *name, const char *version, const char *call, int64_t returned)
{
    struct record_allocator *a = &r.allocator[r.n_allocators++];

    strcpy(a->name, name);
    strcpy(a->version, version);
    strcpy(a->call, call);
    memcpy(a->object, call, strcspn(call, ":"));
    a->returned = returned;
    a->returned_known = 1;
    a->held_before = a->held_after = a->live = PROCFS_UNKNOWN;
    return a;
}

/* A release of the origin's kind; the tests change what they are about. */
static void fresh(int64_t before, int64_t after)
{
    memset(&r, 0, sizeof r);
    procfs_memory_unknown(&r.before);
    procfs_memory_unknown(&r.after);
    r.time_ms = INT64_C(1735689599123);
    r.pid = 4242;
    r.program = "server";
    r.event = "signal:USR1";
    r.before.anon = before;
    r.after.anon = after;
    r.ns = 412003000;
    r.stall_ns = r.came_back = r.faults = r.uncertain = PROCFS_UNKNOWN;
}

static const char *text(void)
{
    size_t n = record_text(&r, line, sizeof line);

    ck_assert_uint_eq(n, strlen(line));
    ck_assert_ptr_eq(strchr(line, '\n'), line + n - 1);
    return line;
}

START_TEST(text_says_what_came_back_and_from_where)
{
    fresh(7338 * MIB, 3510 * MIB);
    r.label = "weight load";
    add("tcmalloc", "2.10", "libtcmalloc.so.4:MallocExtension_ReleaseFreeMemory", 3820 * MIB);
    add("glibc", "2.36", "libc.so.6:malloc_trim", 8 * MIB);
    add("jemalloc", "5.3.0", "libjemalloc.so.2:mallctl", 0);
    add("mimalloc", "", "libmimalloc.so.2:mi_collect", -4096);
    ck_assert_str_eq(
        text(),
        "giveback[4242]: weight load: gave back 3828 MiB in 412 ms, RssAnon 7338 -> 3510 MiB (-52 %), tcmalloc 2.10 "
        "3820 MiB via libtcmalloc.so.4:MallocExtension_ReleaseFreeMemory, glibc 2.36 8 MiB via "
        "libc.so.6:malloc_trim\n");
}
END_TEST

START_TEST(text_names_the_event_when_there_is_no_label)
{
    static const char *const cases[][2] = {{"signal:USR1", "SIGUSR1"},
                                           {"signal:RTMIN+3", "SIGRTMIN+3"},
                                           {"every:10s", "every:10s"},
                                           {"a\nb", "a\\x0ab"},
                                           {NULL, "event"},
                                           {"", "event"}};
    char expected[128];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fresh(100 * MIB, 100 * MIB);
        r.event = cases[i][0];
        r.label = i % 2 ? NULL : "";
        (void)snprintf(expected, sizeof expected, "giveback[4242]: %s: gave back nothing in 412 ms, RssAnon 100 MiB\n",
                       cases[i][1]);
        ck_assert_str_eq(text(), expected);
    }
}
END_TEST

START_TEST(text_of_the_other_outcomes)
{
    fresh(3510 * MIB, 3510 * MIB);
    r.reason = "nothing is held";
    r.ns = 400400;
    r.merged = 3;
    r.lost = 2;
    add("tcmalloc", "", "", 0)->error = EINVAL;
    ck_assert_str_eq(
        text(),
        "giveback[4242]: SIGUSR1: gave back nothing in 400 us, RssAnon 3510 MiB, tcmalloc: EINVAL, 3 events merged, 2 "
        "earlier records lost: nothing is held\n");
    fresh(3510 * MIB, 3522 * MIB);
    r.merged = r.lost = 1;
    add("glibc", "2.36", "libc.so.6:malloc_trim", 9 * MIB);
    ck_assert_str_eq(
        text(),
        "giveback[4242]: SIGUSR1: released in 412 ms, RssAnon grew 12 MiB meanwhile, 3510 -> 3522 MiB, glibc 2.36 9 "
        "MiB via libc.so.6:malloc_trim, 1 event merged, 1 earlier record lost\n");
    fresh(3510 * MIB, 3510 * MIB); /* what came back was taken again at once */
    add("glibc", "2.36", "libc.so.6:malloc_trim", 9 * MIB);
    ck_assert_str_eq(
        text(),
        "giveback[4242]: SIGUSR1: released in 412 ms, RssAnon 3510 MiB, glibc 2.36 9 MiB via libc.so.6:malloc_trim\n");
    fresh(2 * MIB, 2 * MIB - 300 * 1024);
    ck_assert_str_eq(text(),
                     "giveback[4242]: SIGUSR1: gave back 300 KiB in 412 ms, RssAnon 2048 -> 1748 KiB (-15 %)\n");
    fresh(7338 * MIB, 3510 * MIB);
    r.uncertain = 16 * MIB;
    r.ns = INT64_C(12345678901);
    ck_assert_str_eq(text(), "giveback[4242]: SIGUSR1: gave back 3828 MiB in 12.3 s, RssAnon 7338 -> 3510 MiB (-52 %), "
                             "give or take 16 MiB\n");
}
END_TEST

START_TEST(text_of_durations_and_of_what_the_kernel_may_be_off)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0 us"},
                 {999499, "999 us"},
                 {999500, "1 ms"},
                 {1499999, "1 ms"},
                 {1500000, "2 ms"},
                 {INT64_C(9999000000), "9999 ms"},
                 {INT64_C(9999500000), "10.0 s"},
                 {INT64_C(10949000000), "10.9 s"},
                 {INT64_C(10950000000), "11.0 s"}};
    char expected[128];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fresh(100 * MIB, 100 * MIB);
        r.ns = cases[i].ns;
        r.uncertain = MIB - !(i & 1);
        (void)snprintf(expected, sizeof expected,
                       "giveback[4242]: SIGUSR1: gave back nothing in %s, RssAnon 100 MiB%s\n", cases[i].text,
                       i & 1 ? ", give or take 1 MiB" : "");
        ck_assert_str_eq(text(), expected);
    }
}
END_TEST

START_TEST(text_without_a_readable_rssanon)
{
    fresh(PROCFS_UNKNOWN, PROCFS_UNKNOWN);
    r.unreadable = EACCES;
    add("tcmalloc", "2.10", "libtcmalloc.so.4:MallocExtension_ReleaseFreeMemory", 0)->error = ENOSYS;
    add("glibc", "2.36", "libc.so.6:malloc_trim", 0)->returned_known = 0;
    ck_assert_str_eq(
        text(),
        "giveback[4242]: SIGUSR1: released (RssAnon unreadable: EACCES) via libc.so.6:malloc_trim in 412 ms, tcmalloc "
        "2.10: ENOSYS from libtcmalloc.so.4:MallocExtension_ReleaseFreeMemory\n");
    fresh(PROCFS_UNKNOWN, 100 * MIB);
    add("x_free_buffers", "", "", 0)->returned_known = 0;
    add("glibc", "2.36", "libc.so.6:malloc_trim", 0)->returned_known = 0;
    ck_assert_str_eq(text(), "giveback[4242]: SIGUSR1: released (RssAnon unreadable) via x_free_buffers, "
                             "libc.so.6:malloc_trim in 412 ms\n");
    fresh(100 * MIB, PROCFS_UNKNOWN);
    ck_assert_str_eq(text(), "giveback[4242]: SIGUSR1: found nothing to call (RssAnon unreadable) in 412 ms\n");
}
END_TEST

START_TEST(text_of_a_mark)
{
    fresh(3510 * MIB, PROCFS_UNKNOWN);
    r.action = RECORD_MARK;
    r.before.file = 12 * MIB;
    r.before.swap = 0;
    ck_assert_str_eq(text(), "giveback[4242]: SIGUSR1: mark, RssAnon 3510 MiB, RssFile 12 MiB, VmSwap 0 KiB\n");
    fresh(PROCFS_UNKNOWN, PROCFS_UNKNOWN);
    r.action = RECORD_MARK;
    r.unreadable = EACCES;
    ck_assert_str_eq(text(), "giveback[4242]: SIGUSR1: mark (RssAnon unreadable: EACCES)\n");
}
END_TEST

START_TEST(json_has_every_key_in_its_order)
{
    fresh(7338 * MIB, 3510 * MIB);
    r.label = "weight load";
    r.before = (struct procfs_memory){7338 * MIB, 1, 2, 3, 4, 5, 6, 7, 8};
    r.after = (struct procfs_memory){3510 * MIB, 11, 12, 13, 14, 15, 16, 17, 18};
    r.stall_ns = 1500000;
    r.merged = 3;
    r.lost = 2;
    r.came_back = 4096;
    r.faults = 77;
    r.uncertain = 0;
    r.reason = "because";
    *add("glibc", "2.36", "libc.so.6:malloc_trim", 8) =
        (struct record_allocator){"glibc", "2.36", "libc.so.6", "libc.so.6:malloc_trim", -8, 1, 20, 12, 99, EINVAL};
    ck_assert_uint_eq(record_json(&r, line, sizeof line), strlen(line));
    ck_assert_str_eq(
        line,
        "{\"v\":1,\"time\":\"2024-12-31T23:59:59.123Z\",\"pid\":4242,\"program\":\"server\",\"event\":\"signal:USR1\","
        "\"label\":\"weight "
        "load\",\"action\":\"release\",\"before\":{\"anon\":7694450688,\"file\":1,\"shmem\":2,\"swap\":3,"
        "\"lazyfree\":5,\"hugepages\":6,\"locked\":4,\"pss_anon\":7},\"after\":{\"anon\":3680501760,\"file\":11,"
        "\"shmem\":12,"
        "\"swap\":13,\"lazyfree\":15,\"hugepages\":16,\"locked\":14,\"pss_anon\":17},\"returned\":4013948928,"
        "\"seconds\":0.412003,\"stall\":0.001500,\"merged\":3,\"came_back\":4096,\"faults\":77,\"allocators\":[{"
        "\"name\":\"glibc\",\"version\":\"2.36\",\"object\":\"libc.so.6\",\"call\":\"libc.so.6:malloc_trim\","
        "\"returned\":-8,"
        "\"held_before\":20,\"held_after\":12,\"live\":99,\"error\":\"EINVAL\"}],\"reason\":\"because\",\"uncertain\":"
        "0,"
        "\"lost\":2,\"unreadable\":null}\n");
}
END_TEST

START_TEST(json_says_null_for_unknown_and_never_0)
{
    fresh(PROCFS_UNKNOWN, PROCFS_UNKNOWN);
    r.unreadable = EACCES;
    r.program = r.event = NULL;
    add("x", "", "", 0)->returned_known = 0;
    r.allocator[0].returned = PROCFS_UNKNOWN;
    record_json(&r, line, sizeof line);
    ck_assert_str_eq(
        line,
        "{\"v\":1,\"time\":\"2024-12-31T23:59:59.123Z\",\"pid\":4242,\"program\":null,\"event\":null,\"label\":null,"
        "\"action\":\"release\",\"before\":{\"anon\":null,\"file\":null,\"shmem\":null,\"swap\":null,\"lazyfree\":null,"
        "\"hugepages\":null,\"locked\":null,\"pss_anon\":null},\"after\":{\"anon\":null,\"file\":null,\"shmem\":null,"
        "\"swap\":null,\"lazyfree\":null,\"hugepages\":null,\"locked\":null,\"pss_anon\":null},\"returned\":null,"
        "\"seconds\":0.412003,\"stall\":null,\"merged\":0,\"came_back\":null,\"faults\":null,\"allocators\":[{"
        "\"name\":\"x\",\"version\":null,\"object\":null,\"call\":null,\"returned\":null,\"held_before\":null,"
        "\"held_after\":null,\"live\":null,\"error\":null}],\"reason\":null,\"uncertain\":null,\"lost\":0,"
        "\"unreadable\":\"EACCES\"}\n");
    fresh(1, PROCFS_UNKNOWN);
    r.action = RECORD_MARK;
    record_json(&r, line, sizeof line);
    ck_assert_ptr_nonnull(strstr(line, "\"action\":\"mark\""));
    ck_assert_ptr_nonnull(strstr(line, "\"returned\":null"));
}
END_TEST

static void check_time(int64_t time_ms)
{
    char expected[64];
    int64_t ms = (time_ms % 1000 + 1000) % 1000;
    time_t seconds = (time_t)((time_ms - ms) / 1000);
    struct tm tm;

    r.time_ms = time_ms;
    record_json(&r, line, sizeof line);
    ck_assert_ptr_nonnull(gmtime_r(&seconds, &tm));
    (void)snprintf(expected, sizeof expected, "{\"v\":1,\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\",",
                   tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)ms);
    ck_assert_msg(strncmp(line, expected, strlen(expected)) == 0, "%lld ms: %.45s, expected %s", (long long)time_ms,
                  line, expected);
}

START_TEST(json_time_agrees_with_gmtime)
{
    const int64_t day = 86400000;

    fresh(1, 1);
    for (int64_t d = -719162; d < 2932896;
         d += d < 0 || d > 60000 ? 97 : 1) { /* year 1 to 9999; every day up to 2134 */
        check_time(d * day);
        check_time(d * day - 1);
    }
    srandom(1);
    for (int i = 0; i < 20000; i++)
        check_time(((int64_t)random() << 14 ^ random()) % (day * 366 * 600));
}
END_TEST

/* The worst strings that the fields hold. The line is one write to a pipe, so it never exceeds PIPE_BUF. */
START_TEST(the_longest_record_is_whole_and_fits)
{
    static char big[3000];
    static const char fillers[] = {'x', '\x01', '"', '\xff', '\xc2'};

    for (size_t f = 0; f < sizeof fillers; f++)
        for (unsigned with = 0; with < 2; with++) {
            memset(big, fillers[f], sizeof big - 1);
            fresh(INT64_MAX, INT64_MAX);
            r.pid = INT32_MIN;
            r.label = r.event = r.program = big;
            r.reason = with ? big : NULL;
            r.before = r.after = (struct procfs_memory){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                                                        INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
            r.ns = r.stall_ns = r.came_back = r.faults = r.uncertain = INT64_MAX;
            r.merged = r.lost = UINT32_MAX;
            r.unreadable = INT32_MIN;
            for (r.n_allocators = 0; r.n_allocators < RECORD_ALLOCATORS; r.n_allocators++) {
                struct record_allocator *a = &r.allocator[r.n_allocators];
                memset(a->name, fillers[f], sizeof a->name - 1);
                memset(a->version, fillers[f], sizeof a->version - 1);
                memset(a->object, fillers[f], sizeof a->object - 1);
                memset(a->call, fillers[f], sizeof a->call - 1);
                a->returned = a->held_before = a->held_after = a->live = INT64_MIN;
                a->returned_known = 1;
                a->error = INT32_MIN;
            }
            size_t n = record_json(&r, line, sizeof line);
            ck_assert_uint_eq(n, strlen(line));
            ck_assert_msg(json_line(line), "%s", line);
            ck_assert_ptr_nonnull(strstr(line, "\"allocators\":["));
            n = record_text(&r, line, sizeof line);
            ck_assert_uint_eq(n, strlen(line));
            ck_assert_ptr_eq(strchr(line, '\n'), line + n - 1);
            if (with)
                ck_assert_msg(strstr(line, fillers[f] == 'x' ? "xxx...\n" : "...\n") != NULL,
                              "the reason is missing: %s", line);
        }
}
END_TEST

START_TEST(all_allocators_of_a_usual_record_are_in_it)
{
    fresh(7338 * MIB, 3510 * MIB);
    r.label = "weight load";
    for (unsigned i = 0; i < RECORD_ALLOCATORS; i++)
        add("google-tcmalloc", "2.10", "libtcmalloc.so.4:MallocExtension_ReleaseFreeMemory", 3820 * MIB)->live =
            INT64_C(12345678901);
    record_json(&r, line, sizeof line);
    ck_assert(json_line(line));
    unsigned n = 0;
    for (const char *p = line; (p = strstr(p, "\"name\"")); p++)
        n++;
    ck_assert_uint_eq(n, RECORD_ALLOCATORS);
}
END_TEST

START_TEST(a_small_buffer_holds_a_whole_line_or_nothing)
{
    char small[RECORD_MAX];

    fresh(7338 * MIB, 3510 * MIB);
    ck_assert_uint_eq(record_json(&r, small, RECORD_MAX - 1), 0);
    ck_assert_uint_eq(record_text(&r, small, 1), 0);
    for (size_t size = 2; size < 120; size++) {
        memset(small, '#', sizeof small);
        size_t n = record_text(&r, small, size);
        ck_assert_uint_eq(n, strlen(small));
        ck_assert_uint_lt(n, size);
        ck_assert_int_eq(small[n - 1], '\n');
        ck_assert_int_eq(small[size], '#');
    }
}
END_TEST

Suite *suite_record(void)
{
    const TTest *const tests[] = {text_says_what_came_back_and_from_where,
                                  text_names_the_event_when_there_is_no_label,
                                  text_of_the_other_outcomes,
                                  text_of_durations_and_of_what_the_kernel_may_be_off,
                                  text_without_a_readable_rssanon,
                                  text_of_a_mark,
                                  json_has_every_key_in_its_order,
                                  json_says_null_for_unknown_and_never_0,
                                  json_time_agrees_with_gmtime,
                                  the_longest_record_is_whole_and_fits,
                                  all_allocators_of_a_usual_record_are_in_it,
                                  a_small_buffer_holds_a_whole_line_or_nothing,
                                  NULL};

    return unit_suite("record", tests);
}
