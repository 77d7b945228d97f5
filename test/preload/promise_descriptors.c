/* Promise 2: the host's descriptor table holds nothing of ours, whatever the host does to it. */
#include "harness.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* How many descriptors the worker has, which lingers after a record; -1: it has gone. */
static int count_of_worker(const struct host *h)
{
    char path[80];
    int n = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/fd", (int)h->pid, (int)host_worker(h));
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    return d ? closedir(d), n : -1;
}

START_TEST(test_promise_02_descriptor_table_is_the_hosts)
{
    struct host h;
    char before[4096], now[4096];
    enum allocator a = CELL_ALLOCATOR(_i);
    if (!harness_allocator(a, "test_promise_02_descriptor_table_is_the_hosts"))
        return;
    host_victim(&h, "hold", NULL, a, CELL_PLACE(_i));
    host_wait_line(&h, "ready");
    host_descriptors(&h, before, sizeof before);
    for (unsigned i = 0; i < 3; i++) {
        host_kill(&h, SIGUSR1);
        while (host_records(&h) <= i) { /* also in the middle of a release */
            host_descriptors(&h, now, sizeof now);
            ck_assert_str_eq(before, now);
        }
        host_descriptors(&h, now, sizeof now);
        ck_assert_str_eq(before, now);
        ck_assert_int_eq(count_of_worker(&h), 0); /* a table of its own, in which nothing stays open */
    }
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

static const char *const close_ways[] = {"loop", "range", "dup2"};

START_TEST(test_promise_02_host_closes_and_reuses_every_number)
{
    const char *argv[] = {"closefds", close_ways[_i], NULL};
    int status = host_same(&(struct host_setup){.argv = argv, .place = FIRST}, 2, 2);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* With the log on stderr: descriptor 2 becomes a file of the host's, and no line of ours may stand in it. */
START_TEST(test_promise_02_line_never_goes_into_a_file_that_took_stderrs_number)
{
    struct host h;
    const char *argv[] = {"closefds", close_ways[_i], NULL};
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = "stderr"});
    for (unsigned i = 1; i <= 2; i++) {
        host_wait_lines(&h, "ready", i);
        host_kill(&h, SIGUSR1);
        host_wait_worker(&h, true); /* it ends when it has nothing more to do, so by then it has written */
        host_wait_worker(&h, false);
        host_say(&h, "\n");
    }
    ck_assert_msg(host_end(&h) == 0, "a file of the host was written to: %s", file_text(h.out));
    ck_assert_msg(strstr(file_text(h.err), "\"action\":"), "no record on stderr while it was there");
    host_clean(&h);
}
END_TEST

/* EMFILE in the host's table is not EMFILE in the worker's. */
START_TEST(test_promise_02_release_where_the_host_has_no_descriptor_left)
{
    const char *argv[] = {"hold", NULL};
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_line(&h, "ready");
    ck_assert_int_eq(prlimit(h.pid, RLIMIT_NOFILE, &(struct rlimit){3, 3}, NULL), 0);
    int64_t before = host_anon(&h);
    host_release(&h);
    ck_assert_int_lt(host_anon(&h), before / 2);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

Suite *suite_promise_descriptors(void)
{
    Suite *s = suite_create("promise_descriptors");
    TCase *t = tcase_create("descriptors");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_promise_02_descriptor_table_is_the_hosts, 0, CELLS);
    tcase_add_loop_test(t, test_promise_02_host_closes_and_reuses_every_number, 0, 3);
    tcase_add_loop_test(t, test_promise_02_line_never_goes_into_a_file_that_took_stderrs_number, 0, 3);
    tcase_add_test(t, test_promise_02_release_where_the_host_has_no_descriptor_left);
    suite_add_tcase(s, t);
    return s;
}
