/* The life of the library in a host: from its start to its end, whatever the host does in between. */
#include "harness.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* As soon as the kernel says that our handler is there, nothing kills: not in the constructors that follow, not at the end. */
START_TEST(test_kill_storm_from_the_constructor_to_the_end)
{
    static const char *const programs[][4] = {{"/usr/bin/python3", "-c", "import json, threading; print(json.dumps([1, 2]))"},
                                              {"/usr/bin/perl", "-e", "print join(',', map { $_ * 2 } 1 .. 50000) ? 1 : 0"},
                                              {"/bin/bash", "-c", "for i in {1..200}; do x=$(echo $i); done; echo $x"}};
    enum allocator a = CELL_ALLOCATOR(_i);
    if (!harness_allocator(a, "test_kill_storm_from_the_constructor_to_the_end"))
        return;
    for (int n = 0; n < COUNT(programs); n++) {
        struct host bare, h;
        host_start(&bare, &(struct host_setup){.argv = programs[n], .allocator = a});
        (void)host_end(&bare);
        ck_assert_int_eq(bare.status, 0);
        host_start(&h, &(struct host_setup){.argv = programs[n], .allocator = a, .place = CELL_PLACE(_i)});
        host_wait_caught(&h, SIGUSR1);
        (void)host_storm(&h, SIGUSR1, 10000);
        host_compare(&bare, &h, programs[n][0]);
        host_clean(&bare);
        host_clean(&h);
    }
}
END_TEST

static const char *const exit_ways[] = {"exit", "quick_exit", "_exit", "return", "abort", "pthread_exit", "thread", "main_exits"};

/* The release has just begun, is in the middle, or over, when the process ends. */
START_TEST(test_exit_while_a_release_runs)
{
    enum allocator a = CELL_ALLOCATOR(_i);
    static const char *const delays[] = {"0", "300000", "20000000"};
    if (!harness_allocator(a, "test_exit_while_a_release_runs"))
        return;
    for (int n = 0; n < COUNT(exit_ways); n++) {
        struct host bare, h;
        host_victim(&bare, "exits", exit_ways[n], a, WITHOUT);
        (void)host_end(&bare);
        for (int d = 0; d < COUNT(delays); d++) {
            const char *argv[] = {"exits", exit_ways[n], "raise", delays[d], NULL};
            host_start(&h, &(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i)});
            (void)host_end(&h);
            host_compare(&bare, &h, exit_ways[n]);
            host_clean(&h);
        }
        host_clean(&bare);
    }
}
END_TEST

static const char *const last_ways[] = {"main", "other"};

/* libc ends the process when its last thread ends, and counts the worker as one of them. With one `releases` the worker is
 * there when the host's last thread goes. */
START_TEST(test_process_that_ends_with_its_last_thread)
{
    const char *argv[] = {"lastthread", last_ways[_i / 2], NULL};
    ck_assert_int_eq(host_same(&(struct host_setup){.argv = argv, .place = FIRST}, 1, _i % 2 ? 1 : 0), 0);
}
END_TEST

/* dlopen and dlclose of the library. Preloaded as well, it is one and the same, and stays. By dlopen alone it does nothing:
 * its functions stand in front of nobody's. */
START_TEST(test_dlclose_of_the_library)
{
    struct host h;
    const char *argv[] = {"unload", harness_library(), NULL};
    host_start(&h, &(struct host_setup){.argv = argv, .place = _i ? FIRST : WITHOUT});
    for (unsigned i = 1; i <= 4; i++) {
        host_wait_lines(&h, "ready", i);
        if (_i)
            host_release(&h);
        else
            ck_assert_uint_eq(host_mask(&h, "SigCgt"), 0);
        host_say(&h, "\n");
    }
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

START_TEST(test_process_that_only_computes_gets_its_release)
{
    enum allocator a = CELL_ALLOCATOR(_i);
    char path[64];
    struct host h;
    if (!harness_allocator(a, "test_process_that_only_computes_gets_its_release"))
        return;
    host_victim(&h, "compute", "600000", a, CELL_PLACE(_i));
    host_wait_line(&h, "ready");
    host_release(&h);
    host_release(&h);
    (void)snprintf(path, sizeof path, "/proc/%d/timers", (int)h.pid);
    ck_assert_str_eq(file_text(path), ""); /* the timer that got us there is gone */
    host_clean(&h);
    host_victim(&h, "compute", "500", a, CELL_PLACE(_i));
    host_wait_line(&h, "ready");
    host_kill(&h, SIGUSR1);
    ck_assert_int_eq(host_end(&h), 3 << 8);
    ck_assert_str_eq(file_text(h.out), "ready\ndone\n");
    host_clean(&h);
}
END_TEST

START_TEST(test_threads_that_only_allocate_get_their_release)
{
    const char *argv[] = {"churn", "8", "600000", NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    struct host h;
    if (!harness_allocator(a, "test_threads_that_only_allocate_get_their_release"))
        return;
    host_start(&h, &(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i)});
    host_wait_line(&h, "ready");
    host_release(&h);
    host_clean(&h);
}
END_TEST

static const char *const stack_ways[] = {"tiny", "alt"};

START_TEST(test_signals_on_tiny_and_alternate_stacks)
{
    const char *argv[] = {"tinystack", stack_ways[_i], NULL};
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_line(&h, "ready");
    host_wait_lines(&h, "thread", 4);
    for (int n = 0; n < 20; n++) {
        host_kill(&h, SIGUSR1);
        (void)sched_yield();
    }
    if (_i == 1) /* the others have too little room for a thread to be made from, and must simply live */
        host_wait_log(&h, "\"action\":", 1);
    host_say(&h, "\n");
    ck_assert_msg(host_end(&h) == 0, "status %#x: %s", h.status, file_text(h.out));
    ck_assert_msg(strstr(file_text(h.out), "bad 0\n"), "%s", file_text(h.out));
    host_clean(&h);
}
END_TEST

static const char *const inside_calls[] = {"nanosleep", "poll", "write", "read"};

START_TEST(test_host_handler_that_interrupted_malloc_and_blocks)
{
    enum allocator a = CELL_ALLOCATOR(_i);
    if (!harness_allocator(a, "test_host_handler_that_interrupted_malloc_and_blocks"))
        return;
    for (int n = 0; n < COUNT(inside_calls); n++) {
        const char *argv[] = {"inmalloc", inside_calls[n], "timer", NULL};
        struct host h;
        host_start(&h, &(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i)});
        ck_assert_msg(host_end(&h) == 0, "%s: status %#x", inside_calls[n], h.status);
        ck_assert_str_eq(file_text(h.out), "ready\ndone\n");
        host_clean(&h);
    }
}
END_TEST

START_TEST(test_coroutine_blocked_in_poll)
{
    const char *argv[] = {"coroutine", NULL};
    ck_assert_int_eq(host_same(&(struct host_setup){.argv = argv, .place = FIRST}, 1, 3), 0);
}
END_TEST

static const char *const scribbles[] = {"title", "clearenv", "null", "setenv", "scrub"};

START_TEST(test_host_overwrites_its_environment)
{
    const char *argv[] = {"scribble", scribbles[_i], NULL};
    struct host bare, h;
    char record[4096], program[64];
    host_start(&bare, &(struct host_setup){.argv = argv});
    (void)host_end(&bare);
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = "log.%n"});
    (void)snprintf(h.log, sizeof h.log, "%s/log.scribble", h.dir); /* a path without '/': in the folder it started in */
    host_wait_line(&h, "ready");
    host_release(&h);
    host_record(&h, 0, record, sizeof record);
    json_string(record, "program", program, sizeof program);
    ck_assert_str_eq(program, "scribble");
    (void)host_end(&h);
    host_compare(&bare, &h, scribbles[_i]);
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

static void without_proc(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        _exit(99);
}

START_TEST(test_host_without_proc)
{
    const char *argv[] = {"hold", NULL};
    char record[4096];
    struct host h;
    if (geteuid() != 0) {
        harness_skip("test_host_without_proc", "not root: no private mounts");
        return;
    }
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .before_exec = without_proc});
    host_wait_line(&h, "ready");
    int64_t before = host_anon(&h);
    host_release(&h);
    host_record(&h, 0, record, sizeof record);
    ck_assert_msg(strstr(record, "\"anon\":null"), "RssAnon cannot be known without /proc: %s", record);
    ck_assert_int_lt(host_anon(&h), before / 2);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

Suite *suite_life(void)
{
    Suite *s = suite_create("life");
    TCase *t = tcase_create("life");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_kill_storm_from_the_constructor_to_the_end, 0, CELLS);
    tcase_add_loop_test(t, test_exit_while_a_release_runs, 0, CELLS);
    tcase_add_loop_test(t, test_process_that_ends_with_its_last_thread, 0, 2 * COUNT(last_ways));
    tcase_add_loop_test(t, test_dlclose_of_the_library, 0, 2);
    tcase_add_loop_test(t, test_process_that_only_computes_gets_its_release, 0, CELLS);
    tcase_add_loop_test(t, test_threads_that_only_allocate_get_their_release, 0, CELLS);
    tcase_add_loop_test(t, test_signals_on_tiny_and_alternate_stacks, 0, 2);
    tcase_add_loop_test(t, test_host_handler_that_interrupted_malloc_and_blocks, 0, CELLS);
    tcase_add_test(t, test_coroutine_blocked_in_poll);
    tcase_add_loop_test(t, test_host_overwrites_its_environment, 0, COUNT(scribbles));
    tcase_add_test(t, test_host_without_proc);
    suite_add_tcase(s, t);
    return s;
}
