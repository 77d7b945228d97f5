#include "metrics.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)

static struct metrics m;
static char text[METRICS_MAX];

static struct record release_of(int64_t before, int64_t after)
{
    struct record r = {.time_ms = 1500, .ns = 250000000, .merged = 2, .came_back = PROCFS_UNKNOWN, .faults = PROCFS_UNKNOWN};

    procfs_memory_unknown(&r.before);
    procfs_memory_unknown(&r.after);
    r.before.anon = before;
    r.after.anon = after;
    return r;
}

static void add_allocator(struct record *r, const char *name, const char *object, int64_t held, int64_t live)
{
    struct record_allocator *a = &r->allocator[r->n_allocators++];

    (void)snprintf(a->name, sizeof a->name, "%s", name);
    (void)snprintf(a->version, sizeof a->version, "1.0");
    (void)snprintf(a->object, sizeof a->object, "%s", object);
    a->held_after = held;
    a->live = live;
}

static const char *write_all(const char *program, int pid)
{
    memset(text, 0x5a, sizeof text);
    size_t n = metrics_text(&m, program, pid, text, sizeof text);
    ck_assert_uint_eq(n, strlen(text));
    ck_assert_str_eq(text + n - 6, "# EOF\n");
    return text;
}

static void has(const char *sample)
{
    char line[600];

    (void)snprintf(line, sizeof line, "\n%s\n", sample);
    ck_assert_msg(strstr(text, line), "no line \"%s\" in\n%s", sample, text);
}

START_TEST(nothing_has_happened)
{
    metrics_start(&m);
    write_all("p", 0);
    has("giveback_releases_total{program=\"p\",kind=\"signal\"} 0");
    has("giveback_marks_total{program=\"p\",kind=\"settle\"} 0");
    has("giveback_release_seconds_total{program=\"p\"} 0.000000");
    has("giveback_backoff_factor{program=\"p\"} 1");
    /* What is unknown is no 0. */
    ck_assert_ptr_null(strstr(text, "giveback_rss_anon_before_bytes{"));
    ck_assert_ptr_null(strstr(text, "giveback_last_action_timestamp_seconds{"));
    ck_assert_ptr_null(strstr(text, "giveback_allocator_live_bytes{"));
}
END_TEST

START_TEST(records_add_up)
{
    struct record r = release_of(100 * MIB, 40 * MIB);

    metrics_start(&m);
    add_allocator(&r, "glibc", "libc.so.6", 3, 4);
    add_allocator(&r, "jemalloc", "a.so", 10, PROCFS_UNKNOWN);
    add_allocator(&r, "jemalloc", "a.so", 20, 5);
    add_allocator(&r, "mimalloc", "b.so", PROCFS_UNKNOWN, PROCFS_UNKNOWN);
    metrics_count(&m, &r, METRICS_SIGNAL, false, false);
    r.came_back = 7 * MIB;
    r.faults = 9;
    metrics_count(&m, &r, EVENT_SETTLE, true, false);
    struct record rise = release_of(40 * MIB, 41 * MIB), blind = release_of(PROCFS_UNKNOWN, PROCFS_UNKNOWN), mark = release_of(50 * MIB, 50 * MIB);
    metrics_count(&m, &rise, METRICS_CALL, false, true);
    metrics_count(&m, &blind, METRICS_CALL, false, false);
    mark.action = RECORD_MARK;
    mark.merged = 0;
    metrics_count(&m, &mark, EVENT_EVERY, false, true);
    m.factor = 8;
    metrics_count(&m, &r, METRICS_SIGNAL, false, false);
    write_all("p", 42);
    has("giveback_releases_total{program=\"p\",pid=\"42\",kind=\"signal\"} 2");
    has("giveback_releases_total{program=\"p\",pid=\"42\",kind=\"settle\"} 1");
    has("giveback_releases_total{program=\"p\",pid=\"42\",kind=\"call\"} 2");
    has("giveback_marks_total{program=\"p\",pid=\"42\",kind=\"every\"} 1");
    has("giveback_merged_events_total{program=\"p\",pid=\"42\"} 10");
    has("giveback_returned_bytes_total{program=\"p\",pid=\"42\"} 188743680");
    has("giveback_grown_bytes_total{program=\"p\",pid=\"42\"} 1048576");
    has("giveback_came_back_bytes_total{program=\"p\",pid=\"42\"} 14680064");
    has("giveback_faults_total{program=\"p\",pid=\"42\"} 18");
    has("giveback_release_seconds_total{program=\"p\",pid=\"42\"} 1.250000");
    has("giveback_unlogged_releases_total{program=\"p\",pid=\"42\"} 1");
    has("giveback_lost_records_total{program=\"p\",pid=\"42\"} 2");
    has("giveback_rss_anon_after_bytes{program=\"p\",pid=\"42\"} 41943040");
    has("giveback_last_action_timestamp_seconds{program=\"p\",pid=\"42\"} 1.500");
    has("giveback_backoff_factor{program=\"p\",pid=\"42\"} 8");
    /* Two copies that no label tells apart are one series. */
    has("giveback_allocator_held_bytes{program=\"p\",pid=\"42\",allocator=\"jemalloc\",version=\"1.0\",object=\"a.so\"} 30");
    has("giveback_allocator_live_bytes{program=\"p\",pid=\"42\",allocator=\"jemalloc\",version=\"1.0\",object=\"a.so\"} 5");
    has("giveback_allocator_live_bytes{program=\"p\",pid=\"42\",allocator=\"glibc\",version=\"1.0\",object=\"libc.so.6\"} 4");
    ck_assert_ptr_null(strstr(text, "mimalloc"));
}
END_TEST

START_TEST(labels_are_escaped)
{
    metrics_start(&m);
    write_all("a\"b\\c\nd\xff\re\xc3\xa4", 0);
    has("giveback_backoff_factor{program=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xef\xbf\xbd"
        "e\xc3\xa4\"} 1");
}
END_TEST

/* The longest of everything fits, and what does not fit is nothing at all. */
START_TEST(longest_text_fits)
{
    char program[64];
    struct record r = release_of(INT64_MAX, INT64_MAX - 1);

    memset(program, 0xff, 63);
    program[63] = '\0';
    metrics_start(&m);
    memset(m.releases, 0x7f, sizeof m.releases);
    memset(m.marks, 0x7f, sizeof m.marks);
    for (int i = 0; i < RECORD_ALLOCATORS; i++) {
        char name[24], object[64];
        memset(name, 0xff, sizeof name);
        memset(object, 0xff, sizeof object);
        name[0] = (char)('a' + i);
        name[23] = object[63] = '\0';
        add_allocator(&r, name, object, INT64_MAX, INT64_MAX);
        memset(r.allocator[i].version, 0xff, 23);
        r.allocator[i].version[23] = '\0';
    }
    metrics_count(&m, &r, METRICS_CALL, false, false);
    write_all(program, 2147483647);
    size_t n = strlen(text);
    for (size_t size = 1; size <= n; size += 97) {
        char *exact = malloc(size);
        ck_assert_uint_eq(metrics_text(&m, program, 2147483647, exact, size), 0);
        free(exact);
    }
    ck_assert_uint_eq(metrics_text(&m, program, 2147483647, text, n + 1), n);
}
END_TEST

Suite *suite_metrics(void)
{
    Suite *s = suite_create("metrics");
    TCase *t = tcase_create("metrics");
    tcase_add_test(t, nothing_has_happened);
    tcase_add_test(t, records_add_up);
    tcase_add_test(t, labels_are_escaped);
    tcase_add_test(t, longest_text_fits);
    suite_add_tcase(s, t);
    return s;
}
