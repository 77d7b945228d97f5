/* Promise 8: fork, _Fork, vfork, posix_spawn, clone, exec, daemon: the child works, has no thread until its own first event,
 * and gets a release of its own on its own signal. */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "child 123" on stdout */
static pid_t said_pid(struct host *h, const char *who)
{
    for (int i = 0; i < HARNESS_DEADLINE * 500; i++) {
        char *text = file_text(h->out), *at = strstr(text, who);
        pid_t pid = at && strchr(at, '\n') ? (pid_t)atoi(at + strlen(who)) : 0;
        free(text);
        if (pid)
            return pid;
        (void)usleep(2000);
    }
    ck_abort_msg("no \"%s\" on stdout: %s", who, file_text(h->out));
}

static unsigned tasks_of(pid_t pid)
{
    struct host other = {.pid = pid};
    return host_threads(&other);
}

static const char *const fork_ways[] = {"fork", "_Fork", "double", "daemon"};
#define FORK_WAYS 4

/* _i: way, allocator and place; the parent has had a release before the fork where the index is odd. */
START_TEST(test_promise_08_child_has_its_own_release)
{
    struct host h;
    char text[32], record[4096];
    const char *way = fork_ways[_i % FORK_WAYS];
    enum allocator a = CELL_ALLOCATOR(_i / FORK_WAYS);
    if (!harness_allocator(a, "test_promise_08_child_has_its_own_release"))
        return;
    host_victim(&h, "forks", way, a, CELL_PLACE(_i / FORK_WAYS));
    host_wait_line(&h, "ready");
    unsigned plain = host_threads(&h), before = (unsigned)(_i / FORK_WAYS + _i) % 2;
    if (before)
        host_release(&h);
    host_say(&h, "\n");
    pid_t child = said_pid(&h, "child "), parent = said_pid(&h, "parent ");
    ck_assert_int_eq(parent, h.pid);
    ck_assert_msg(proc_thread(child, "giveback") == 0 && tasks_of(child) <= plain, "the child of %s has a thread before its event", way);
    ck_assert_int_eq(kill(child, SIGUSR1), 0);
    (void)snprintf(text, sizeof text, "\"pid\":%d,", (int)child);
    host_wait_log(&h, text, 1);
    host_record(&h, before, record, sizeof record);
    ck_assert_int_eq(json_number(record, "pid"), child);
    ck_assert_int_gt(json_number(record, "before.anon"), 0);
    host_release(&h); /* and the parent still has its own */
    ck_assert_uint_eq(host_records(&h), before + 2);
    (void)host_end(&h);
    ck_assert_msg(h.status == 0, "status %#x", h.status);
    host_clean(&h);
}
END_TEST

static const char *const clone_ways[] = {"clone", "raw"};

/* A child made by clone without libc's knowledge has no thread that libc knows: none is started in it, and it goes on. */
START_TEST(test_promise_08_child_of_a_bare_clone_goes_on)
{
    struct host h;
    host_victim(&h, "forks", clone_ways[_i], GLIBC, FIRST);
    host_wait_line(&h, "ready");
    host_say(&h, "\n");
    pid_t child = said_pid(&h, "child ");
    for (int i = 0; i < 50; i++)
        ck_assert_int_eq(kill(child, SIGUSR1), 0);
    host_release(&h);
    ck_assert_uint_eq(tasks_of(child), 1);
    (void)host_end(&h);
    ck_assert_msg(h.status == 0 && strstr(file_text(h.out), "\n1 400\n"), "status %#x: %s", h.status, file_text(h.out));
    host_clean(&h);
}
END_TEST

/* %p in the log's path is the child's own pid, in the child. */
START_TEST(test_promise_08_child_writes_a_log_of_its_own)
{
    const char *argv[] = {"forks", "fork", NULL};
    char path[700];
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = "log.%n.%p"});
    host_wait_line(&h, "ready");
    host_say(&h, "\n");
    pid_t pids[2] = {said_pid(&h, "child "), said_pid(&h, "parent ")};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(kill(pids[i], SIGUSR1), 0);
        (void)snprintf(path, sizeof path, "%s/log.forks.%d", h.dir, (int)pids[i]);
        for (int n = 0; n < HARNESS_DEADLINE * 500 && !strstr(file_text(path), "\"action\":"); n++)
            (void)usleep(2000);
        ck_assert_int_eq(json_number(file_text(path), "pid"), pids[i]);
    }
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

/* Events at 1 kHz, 2,000 forked children which allocate and trigger themselves: all end. */
START_TEST(test_promise_08_2000_children_of_a_threaded_host_all_end)
{
    static const char *const quiet[] = {"forkmany", "10", NULL};
    const char *argv[] = {"forkmany", _i == 0 ? "2000" : "150", "raise", NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    struct host bare, h;
    if (!harness_allocator(a, "test_promise_08_2000_children_of_a_threaded_host_all_end"))
        return;
    if (a == TBB) { /* it has no atfork handlers; `forkmany 400` without the library hung in scalable_malloc in 1 of 4 runs */
        harness_skip("test_promise_08_2000_children_of_a_threaded_host_all_end", "TBB's own malloc hangs in children of threaded hosts");
        return;
    }
    host_start(&bare, &(struct host_setup){.argv = quiet, .allocator = a});
    (void)host_end(&bare);
    host_start(&h, &(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i)});
    host_wait_line(&h, "ready");
    (void)host_storm(&h, SIGUSR1, 1000);
    host_compare(&bare, &h, "forkmany");
    ck_assert_uint_gt(host_records(&h), 0);
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

/* A vfork child is somebody else in our memory: what it does to its signals is not the parent's. */
START_TEST(test_promise_08_vfork_child_leaves_the_parent_as_it_was)
{
    const char *argv[] = {"vforks", NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    if (!harness_allocator(a, "test_promise_08_vfork_child_leaves_the_parent_as_it_was"))
        return;
    ck_assert_int_eq(host_same(&(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i)}, 1, 2), 0);
}
END_TEST

START_TEST(test_promise_08_child_that_shares_memory_is_left_alone)
{
    char record[4096];
    struct host h;
    host_victim(&h, "sharevm", NULL, GLIBC, FIRST);
    host_wait_line(&h, "ready");
    pid_t child = said_pid(&h, "child ");
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(kill(child, SIGUSR1), 0); /* nothing of ours writes there; its read is restarted */
    host_release(&h);
    host_record(&h, 0, record, sizeof record);
    ck_assert_int_eq(json_number(record, "merged"), 0); /* the child's signals are not the parent's events */
    ck_assert_uint_eq(tasks_of(child), 1);
    host_say(&h, "\n");
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_uint_eq(host_notices(&h), 0);
    ck_assert_msg(strstr(file_text(h.out), "status b00 stage 1\n"), "%s", file_text(h.out));
    ck_assert_uint_eq(host_records(&h), 1);
    host_clean(&h);
}
END_TEST

/* exec from the main thread and from another one, with and without a worker: the new program starts anew. */
START_TEST(test_promise_08_exec_starts_anew)
{
    char idle[400];
    const char *argv[] = {"execs", _i % 2 ? "thread" : "main", idle, NULL};
    struct host h;
    (void)snprintf(idle, sizeof idle, "%s", harness_victim("idle"));
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_line(&h, "before");
    for (int i = 0; i < _i / 2; i++)
        host_release(&h);
    host_say(&h, "\n");
    host_wait_line(&h, "ready");
    ck_assert_uint_eq(host_threads(&h), 1);
    host_release(&h);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    ck_assert_uint_eq(host_records(&h), (unsigned)(_i / 2) + 1);
    host_clean(&h);
}
END_TEST

Suite *suite_promise_fork(void)
{
    Suite *s = suite_create("promise_fork");
    TCase *t = tcase_create("fork");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_promise_08_child_has_its_own_release, 0, FORK_WAYS * CELLS);
    tcase_add_loop_test(t, test_promise_08_child_of_a_bare_clone_goes_on, 0, 2);
    tcase_add_test(t, test_promise_08_child_writes_a_log_of_its_own);
    tcase_add_loop_test(t, test_promise_08_2000_children_of_a_threaded_host_all_end, 0, CELLS);
    tcase_add_loop_test(t, test_promise_08_vfork_child_leaves_the_parent_as_it_was, 0, CELLS);
    tcase_add_test(t, test_promise_08_child_that_shares_memory_is_left_alone);
    tcase_add_loop_test(t, test_promise_08_exec_starts_anew, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
