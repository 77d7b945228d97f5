/* Promise 3: no thread before the first event; then one, named, deaf to signals, and gone where it would be in the way. */
#include "harness.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* SigBlk of the worker: all but glibc's own two, SIGKILL and SIGSTOP. */
static uint64_t mask_of_worker(const struct host *h)
{
    char path[80];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)h->pid, (int)host_worker(h));
    char *text = file_text(path), *at = strstr(text, "SigBlk:");
    uint64_t mask = at ? strtoull(at + 7, NULL, 16) : 0;
    free(text);
    return mask;
}

START_TEST(test_promise_03_no_thread_before_the_first_event)
{
    struct host h;
    enum allocator a = CELL_ALLOCATOR(_i);
    if (!harness_allocator(a, "test_promise_03_no_thread_before_the_first_event"))
        return;
    host_victim(&h, "hold", NULL, a, WITHOUT);
    host_wait_line(&h, "ready");
    unsigned bare = host_threads(&h);
    host_clean(&h);
    host_victim(&h, "hold", NULL, a, CELL_PLACE(_i));
    host_wait_line(&h, "ready");
    ck_assert_uint_eq(host_threads(&h), bare);
    host_release(&h);
    ck_assert_uint_eq(host_threads(&h), bare + 1);
    ck_assert_msg(host_worker(&h), "the worker's name is not giveback");
    uint64_t must = ~(uint64_t)0 & ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 1ull << 31 | 1ull << 32);
    ck_assert_msg(mask_of_worker(&h) == must, "SigBlk of the worker is %llx, not %llx", (unsigned long long)mask_of_worker(&h),
                  (unsigned long long)must);
    host_release(&h);
    ck_assert_uint_eq(host_threads(&h), bare + 1); /* one, however many events */
    host_wait_worker(&h, false);                   /* and none while there is nothing to do */
    ck_assert_uint_eq(host_threads(&h), bare);
    host_release(&h);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

START_TEST(test_promise_03_setuid_of_a_threaded_host_does_not_hang)
{
    const char *argv[] = {"setids", NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    if (harness_allocator(a, "test_promise_03_setuid_of_a_threaded_host_does_not_hang"))
        ck_assert_int_eq(host_same(&(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i)}, 1, 1), 0);
}
END_TEST

/* One conversation: every command is preceded by `releases` releases, so that there is a worker when it comes. */
static void namespace_talk(struct host *h, enum place p, unsigned releases, const char *command)
{
    char answer[64];
    static const char *const commands[] = {"vm", "files", "bad", "mount", "user"};
    host_victim(h, "namespaces", NULL, GLIBC, p);
    host_wait_line(h, "ready");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (command && strcmp(command, commands[i]) != 0)
            continue;
        for (unsigned n = 0; n < releases; n++)
            host_release(h);
        if (releases)
            ck_assert_msg(host_worker(h), "no worker before %s: nothing was tried", commands[i]);
        (void)snprintf(answer, sizeof answer, "%s\n", commands[i]);
        host_say(h, answer);
    }
    (void)host_end(h);
}

START_TEST(test_promise_03_worker_is_gone_before_unshare_and_setns)
{
    struct host bare, with;
    namespace_talk(&bare, WITHOUT, 0, NULL);
    ck_assert_msg(strstr(file_text(bare.out), "user: 0 0") || strstr(file_text(bare.out), "user: 0 "), "unshare fails here by itself: %s",
                  file_text(bare.out));
    namespace_talk(&with, FIRST, 2, NULL);
    host_compare(&bare, &with, "unshare and setns after a release");
    host_clean(&bare);
    host_clean(&with);
}
END_TEST

/* Signals keep coming while the host unshares: a worker that is being started just then is in the way as well. */
START_TEST(test_promise_03_unshare_while_events_come)
{
    for (int round = 0; round < 60; round++) {
        struct host h;
        host_victim(&h, "namespaces", NULL, GLIBC, FIRST);
        host_wait_line(&h, "ready");
        for (int i = 0; i < round % 5; i++)
            host_kill(&h, SIGUSR1);
        host_say(&h, "user\n");
        for (int i = 0; i < 20; i++)
            host_kill(&h, SIGUSR1);
        (void)host_end(&h);
        ck_assert_msg(strstr(file_text(h.out), "user: 0 "), "round %d: %s", round, file_text(h.out));
        host_clean(&h);
    }
}
END_TEST

static const char *const restrict_ways[] = {"seccomp", "landlock", "chroot"};

/* No thread where the process has shut itself in; not even one that was there before it did is the host's death. */
START_TEST(test_promise_03_no_thread_once_restricted)
{
    struct host bare, h;
    const char *way = restrict_ways[_i];
    host_victim(&bare, "restricted", way, GLIBC, WITHOUT);
    host_say(&bare, "x");
    (void)host_end(&bare);
    if (strstr(file_text(bare.out), "no\n")) {
        harness_skip("test_promise_03_no_thread_once_restricted", "this kernel has no landlock");
        return;
    }
    host_victim(&h, "restricted", way, GLIBC, FIRST);
    host_wait_line(&h, "ready");
    for (int i = 0; i < 3; i++)
        host_kill(&h, SIGUSR1);
    if (strcmp(way, "seccomp") == 0) { /* landlock shuts nothing that threads need, and chroot nothing of ours */
        host_wait_worker(&h, false);
        ck_assert_uint_eq(host_records(&h), 0);
    }
    host_say(&h, "x");
    ck_assert_msg(host_end(&h) == bare.status, "%s: status %#x, %#x without the library", way, h.status, bare.status);
    ck_assert_str_eq(file_text(h.out), file_text(bare.out));
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

START_TEST(test_promise_03_restriction_is_said_once)
{
    const char *argv[] = {"restricted", "seccomp", NULL};
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = "stderr"});
    host_wait_line(&h, "ready");
    for (unsigned i = 1; i <= 3; i++) { /* the handler has run by the time that the read has been restarted and has ended */
        host_kill(&h, SIGUSR1);
        host_say(&h, "x");
        host_wait_lines(&h, "alive", i);
    }
    (void)host_end(&h);
    char *err = file_text(h.err), *end = strchr(err, '\n');
    ck_assert_msg(strstr(err, "seccomp") && end && !end[1], "stderr is not one line that names seccomp: %s", err);
    host_clean(&h);
}
END_TEST

static void few_processes(void)
{
    (void)setgroups(0, NULL);
    (void)setrlimit(RLIMIT_NPROC, &(struct rlimit){0, 0});
    (void)!(setgid(61234) || setuid(61234));
}

START_TEST(test_promise_03_pthread_create_that_fails_is_one_line)
{
    const char *argv[] = {"idle", NULL};
    struct host h;
    if (geteuid() != 0) {
        harness_skip("test_promise_03_pthread_create_that_fails_is_one_line", "not root: RLIMIT_NPROC counts the user's other processes");
        return;
    }
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = "stderr", .before_exec = few_processes});
    host_wait_line(&h, "ready");
    for (int i = 0; i < 5; i++)
        host_kill(&h, SIGUSR1);
    while (!file_text(h.err)[0])
        ;
    ck_assert_int_eq(host_end(&h), 7 << 8);
    char *err = file_text(h.err), *end = strchr(err, '\n');
    ck_assert_msg(strstr(err, "EAGAIN") && end && !end[1], "stderr is not one line that names EAGAIN: %s", err);
    host_clean(&h);
}
END_TEST

Suite *suite_promise_thread(void)
{
    Suite *s = suite_create("promise_thread");
    TCase *t = tcase_create("thread");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_promise_03_no_thread_before_the_first_event, 0, CELLS);
    tcase_add_loop_test(t, test_promise_03_setuid_of_a_threaded_host_does_not_hang, 0, CELLS);
    tcase_add_test(t, test_promise_03_worker_is_gone_before_unshare_and_setns);
    tcase_add_test(t, test_promise_03_unshare_while_events_come);
    tcase_add_loop_test(t, test_promise_03_no_thread_once_restricted, 0, 3);
    tcase_add_test(t, test_promise_03_restriction_is_said_once);
    tcase_add_test(t, test_promise_03_pthread_create_that_fails_is_one_line);
    suite_add_tcase(s, t);
    return s;
}
