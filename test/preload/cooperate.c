/* giveback.h: what the functions return with the library and without it, from many threads, in children, in a handler, and where
 * they would wait for themselves. */
#include "harness.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)

/* Run it to its end; the output. */
static char *run(struct host *h, const char *const *argv, enum allocator a, enum place p, const char *variable)
{
    const char *env[] = {variable, NULL};
    host_start(h, &(struct host_setup){.argv = argv, .allocator = a, .place = p, .env = variable ? env : NULL, .input = ""});
    ck_assert_msg(host_end(h) == 0, "%s: status %#x: %s", argv[0], h->status, file_text(h->err));
    ck_assert_str_eq(file_text(h->err), "");
    return file_text(h->out);
}

static void runs_without(const char *const *argv, const char *output)
{
    static const char *const off[] = {NULL, "GIVEBACK=0"};
    struct host h;
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(run(&h, argv, GLIBC, i ? FIRST : WITHOUT, off[i]), output);
        ck_assert_uint_eq(host_records(&h), 0);
        host_clean(&h);
    }
}

START_TEST(test_example_in_c)
{
    static const char *const argv[] = {"cooperate", NULL};
    long long before, after;
    int allocators, length, used = 0;
    char record[4096], event[64];
    struct host h;

    if (!harness_allocator(CELL_ALLOCATOR(_i), "test_example_in_c"))
        return;
    if (_i == 0)
        runs_without(argv, "0 allocators, RssAnon -1 -> -1\n0 \n");
    char *out = run(&h, argv, CELL_ALLOCATOR(_i), CELL_PLACE(_i), NULL);
    ck_assert_msg(sscanf(out, "%d allocators, RssAnon %lld -> %lld\n%d %n", &allocators, &before, &after, &length, &used) == 4 && used, "%s", out);
    ck_assert_int_ge(allocators, 1);
    /* These two return nothing of pages with a live block among sixteen, to the program's own call neither. */
    if (CELL_ALLOCATOR(_i) != MIMALLOC && CELL_ALLOCATOR(_i) != TBB)
        ck_assert_msg(before > 60 * MIB && after < before - 32 * MIB, "%lld -> %lld", before, after);
    ck_assert_int_eq(host_records(&h), 2);
    host_record(&h, 0, record, sizeof record);
    json_string(record, "label", event, sizeof event);
    ck_assert_str_eq(event, "load");
    json_string(record, "event", event, sizeof event);
    ck_assert_str_eq(event, "giveback_release");
    ck_assert_int_lt(llabs(json_number(record, "before.anon") - before), MIB);
    ck_assert_int_lt(llabs(json_number(record, "after.anon") - after), MIB);
    host_record(&h, 1, record, sizeof record); /* which is what giveback_last said */
    ck_assert_int_eq(length, (int)strlen(record));
    ck_assert_int_eq(strncmp(out + used, record, strlen(record)), 0);
    host_clean(&h);
}
END_TEST

START_TEST(test_example_in_cpp)
{
    static const char *const argv[] = {"cooperate_cpp", NULL};
    struct host h;

    runs_without(argv, "the last line is not whole\n0 0 \n");
    char *out = run(&h, argv, GLIBC, FIRST, NULL);
    ck_assert_msg(strncmp(out, "the last line is not whole\n1 1 {\"v\":1", 37) == 0 && strstr(out, "\"label\":\"load\""), "%s", out);
    host_clean(&h);
}
END_TEST

START_TEST(test_example_in_python)
{
    char script[320];
    const char *argv[] = {"/usr/bin/python3", script, NULL};
    struct host h;

    if (!file_exists(argv[0])) {
        harness_skip("test_example_in_python", "no /usr/bin/python3");
        return;
    }
    (void)snprintf(script, sizeof script, "%s", harness_victim("cooperate.py"));
    runs_without(argv, "0 False\n0 \n");
    char *out = run(&h, argv, GLIBC, FIRST, NULL);
    ck_assert_msg(isdigit(out[0]) && out[0] > '0' && strncmp(out + 1, " True\n1 {\"v\":1", 14) == 0 && strstr(out, "\"label\":\"serving\""), "%s", out);
    host_clean(&h);
}
END_TEST

/* Each label once, whoever waited for whom. */
START_TEST(test_many_threads_at_once)
{
    static const char *const argv[] = {"calls", "threads", NULL};
    char label[32];
    struct host h;

    ck_assert_str_eq(run(&h, argv, CELL_ALLOCATOR(_i), FIRST, NULL), "bad: 0\nerrno 77\nready\n");
    for (int thread = 0; thread < 16; thread++)
        for (int i = 0; i < 20; i++) {
            (void)snprintf(label, sizeof label, "\"t%d.%d\"", thread, i);
            ck_assert_msg(host_count_log(&h, label) == (i % 4 != 2), "%s: %u times", label, host_count_log(&h, label));
        }
    ck_assert_uint_eq(host_records(&h), 16 * 15);
    ck_assert_uint_eq(host_notices(&h), 0);
    host_clean(&h);
}
END_TEST

static const struct {
    const char *way, *variable, *output;
    unsigned records;
} ways[] = {
    {"fork", NULL, "parent: 1 child: 0\nvfork: 0 last: 1\nerrno 77\nready\n", 3},
    {"handler", NULL, "handled: 1 strange: 0\nerrno 77\nready\n", 300},
    {"small", NULL, "1 {\"v 0 5 1\n1 1\nerrno 77\nready\n", 3},
    {"once", "GIVEBACK_CALL=calls:from_within", "released: 1\nwithin: 0 0 1, 1 times, then 1\nerrno 77\nready\n", 2},
#ifdef __x86_64__
    {"hook", "GIVEBACK_ON=exit:hooked_here", "hooked: 1\nerrno 77\nready\n", 2},
#endif
};

START_TEST(test_awkward_moments)
{
    const char *argv[] = {"calls", ways[_i].way, NULL};
    struct host h;

    ck_assert_str_eq(run(&h, argv, GLIBC, FIRST, ways[_i].variable), ways[_i].output);
    ck_assert_uint_eq(host_records(&h), ways[_i].records);
    ck_assert_uint_eq(host_notices(&h), 0);
    host_clean(&h);
}
END_TEST

START_TEST(test_restricted_host_gets_nothing_and_is_told)
{
    static const char *const argv[] = {"calls", "restricted", NULL}, *const env[] = {"GIVEBACK_LOG=stderr", "GIVEBACK_FORMAT=text", NULL};
    struct host h;

    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .input = ""});
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_str_eq(file_text(h.out), "restricted: 0 0 0 -1\nerrno 77\nready\n");
    char *said = strstr(file_text(h.err), "]: ");
    ck_assert_ptr_nonnull(said);
    ck_assert_str_eq(said, "]: a call of giveback.h came, but the program has restricted itself (seccomp, landlock) since it started: no "
                           "thread is made for a release any more\n");
    host_clean(&h);
}
END_TEST

/* In the last moments there may be nothing to be had any more, but the call returns. */
START_TEST(test_at_exit_it_returns)
{
    static const char *const argv[] = {"calls", "exit", NULL};
    struct host h;

    ck_assert_str_eq(run(&h, argv, CELL_ALLOCATOR(_i), FIRST, NULL), "released: 1\nerrno 77\nready\nleft\n");
    host_clean(&h);
}
END_TEST

/* What is asked by a call is no descriptor of the host's, and the thread goes as after a signal. */
START_TEST(test_leaves_nothing_behind)
{
    static const char *const argv[] = {"calls", "once", NULL};
    char before[2000], after[2000];
    struct host bare, with;

    host_start(&bare, &(struct host_setup){.argv = argv, .place = WITHOUT});
    host_start(&with, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_line(&bare, "ready");
    host_wait_line(&with, "ready");
    host_wait_worker(&with, false);
    host_descriptors(&bare, before, sizeof before);
    host_descriptors(&with, after, sizeof after);
    ck_assert_uint_eq(strlen(before) > 0, 1);
    for (char *c = before, *d = after; *c || *d; c += strcspn(c, "\n") + 1, d += strcspn(d, "\n") + 1)
        ck_assert_msg(atoi(c) == atoi(d), "%s\nwith the library:\n%s", before, after);
    host_end(&bare);
    host_end(&with);
    host_clean(&bare);
    host_clean(&with);
}
END_TEST

Suite *suite_cooperate(void)
{
    Suite *s = suite_create("cooperate");
    TCase *t = tcase_create("cooperate");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_example_in_c, 0, CELLS);
    tcase_add_test(t, test_example_in_cpp);
    tcase_add_test(t, test_example_in_python);
    tcase_add_loop_test(t, test_many_threads_at_once, 0, ALLOCATORS);
    tcase_add_loop_test(t, test_awkward_moments, 0, sizeof ways / sizeof *ways);
    tcase_add_test(t, test_restricted_host_gets_nothing_and_is_told);
    tcase_add_loop_test(t, test_at_exit_it_returns, 0, ALLOCATORS);
    tcase_add_test(t, test_leaves_nothing_behind);
    suite_add_tcase(s, t);
    return s;
}
