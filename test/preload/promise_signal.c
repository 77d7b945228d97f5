/* Promise 4: the host owns its signals. Its handler gets every one of them, it sees its own value, and it dies of a signal
 * where it means to; we step aside and say so once, with another way to trigger. */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static const char *const ways[] = {"sigaction", "signal", "bsd_signal", "ssignal", "vsysv_signal", "sigset", "siginterrupt", "raw"};
#define WAYS ((int)(sizeof ways / sizeof *ways))

/* One line says that we stepped aside, and how else to trigger. */
static void stepped_aside_once(const struct host *h, const char *signal)
{
    ck_assert_msg(host_notices(h) == 1 && host_count_log(h, signal) == 1 && host_count_log(h, "GIVEBACK_SIGNAL") == 1,
                  "not one line that says that %s is the program's and names GIVEBACK_SIGNAL: %s", signal, file_text(h->log));
}

START_TEST(test_promise_04_host_handler_from_the_start)
{
    const char *argv[] = {"handler", ways[_i], NULL};
    struct host bare, with;
    struct host *both[] = {&bare, &with};
    for (int i = 0; i < 2; i++) {
        host_start(both[i], &(struct host_setup){.argv = argv, .place = i ? FIRST : WITHOUT});
        host_wait_line(both[i], "installed 0");
        for (int n = 0; n < 3; n++)
            host_deliver(both[i], SIGUSR1, SYS_pause);
        ck_assert_int_eq(host_end(both[i]), 0);
    }
    host_compare(&bare, &with, ways[_i]);
    ck_assert_uint_eq(host_records(&with), 0);
    if (strcmp(ways[_i], "raw") != 0) /* nobody tells us of that one before a signal comes, which is not ours */
        stepped_aside_once(&with, "SIGUSR1");
    host_clean(&bare);
    host_clean(&with);
}
END_TEST

START_TEST(test_promise_04_host_handler_later)
{
    const char *argv[] = {"handler", ways[_i], "later", NULL};
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_line(&h, "ready");
    host_release(&h);
    host_release(&h);
    host_say(&h, "\n");
    host_wait_line(&h, "installed 0");
    for (int n = 0; n < 3; n++)
        host_deliver(&h, SIGUSR1, SYS_pause);
    host_wait_line(&h, "three");
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_uint_eq(host_records(&h), 2);
    if (strcmp(ways[_i], "raw") != 0)
        stepped_aside_once(&h, "SIGUSR1");
    host_clean(&h);
}
END_TEST

START_TEST(test_promise_04_sigaction_shows_the_hosts_own_value)
{
    const char *argv[] = {"query", NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    if (harness_allocator(a, "test_promise_04_sigaction_shows_the_hosts_own_value"))
        ck_assert_int_eq(host_same(&(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i)}, 2, 1), 0);
}
END_TEST

static const char *const die_ways[] = {"reset", "default", "sigset", "resethand", "sysv", "restore"};

/* Without a release before, and after two. */
START_TEST(test_promise_04_host_that_means_to_die_dies)
{
    const char *argv[] = {"die", die_ways[_i / 2], NULL};
    int status = host_same(&(struct host_setup){.argv = argv, .place = FIRST}, 1, _i % 2 ? 2 : 0);
    ck_assert_msg(status == SIGUSR1, "%s: status %#x is not death by SIGUSR1", die_ways[_i / 2], status);
}
END_TEST

static const char *const accept_ways[] = {"sigwait", "sigwaitinfo", "sigtimedwait", "signalfd", "pending"};

START_TEST(test_promise_04_signal_that_is_waited_for_is_the_hosts)
{
    for (int with = 0; with < 2; with++) {
        struct host h;
        host_victim(&h, "accept_signal", accept_ways[_i], GLIBC, with ? FIRST : WITHOUT);
        host_wait_line(&h, "ready");
        for (unsigned n = 1; n <= 3; n++) {
            host_kill(&h, SIGUSR1);
            host_wait_lines(&h, "got 1", n);
        }
        ck_assert_int_eq(host_end(&h), 0);
        ck_assert_uint_eq(host_records(&h), 0);
        host_clean(&h);
    }
}
END_TEST

static const struct {
    const char *way;
    long syscall;
} windows[] = {{"pselect", SYS_pselect6}, {"ppoll", SYS_ppoll}, {"epoll_pwait", SYS_epoll_pwait}, {"sigsuspend", SYS_rt_sigsuspend}};

START_TEST(test_promise_04_mask_opened_inside_a_call)
{
    struct host both[2];
    for (int i = 0; i < 2; i++) {
        host_victim(&both[i], "window", windows[_i].way, GLIBC, i ? FIRST : WITHOUT);
        host_wait_line(&both[i], "ready");
        for (int n = 0; n < 3; n++)
            host_deliver(&both[i], SIGUSR1, windows[_i].syscall);
        ck_assert_int_eq(host_end(&both[i]), 0);
    }
    host_compare(&both[0], &both[1], windows[_i].way);
    host_clean(&both[0]);
    host_clean(&both[1]);
}
END_TEST

static void inherit_ignored(void)
{
    (void)signal(SIGUSR1, SIG_IGN);
}

static const char *const ignore_ways[] = {"inherited", "signal", "sigaction", "sigset", "sigignore"};

START_TEST(test_promise_04_ignored_stays_ignored)
{
    const char *argv[] = {"ignore", ignore_ways[_i], NULL};
    struct host_setup s = {.argv = argv, .place = FIRST, .before_exec = _i == 0 ? inherit_ignored : NULL};
    struct host h;
    ck_assert_int_eq(host_same(&s, 1, 0), 0);
    host_start(&h, &s);
    host_wait_line(&h, "raised");
    (void)host_end(&h);
    ck_assert_uint_eq(host_records(&h), 0);
    stepped_aside_once(&h, "SIGUSR1");
    host_clean(&h);
}
END_TEST

static const struct {
    const char *variable;
    int offset; /* from SIGRTMIN where at_rtmin */
    bool at_rtmin;
} signals[] = {{"GIVEBACK_SIGNAL=RTMIN+3", 3, true}, {"GIVEBACK_SIGNAL=SIGRTMIN+3", 3, true}, {"GIVEBACK_SIGNAL=USR2", SIGUSR2, false},
               {"GIVEBACK_SIGNAL=SIGUSR2", SIGUSR2, false}, {"GIVEBACK_SIGNAL=WINCH", SIGWINCH, false}, {"GIVEBACK_SIGNAL=12", 12, false},
               {"GIVEBACK_SIGNAL=URG", SIGURG, false}, {"GIVEBACK_SIGNAL=CHLD", SIGCHLD, false}};

START_TEST(test_promise_04_other_signals)
{
    const char *argv[] = {"hold", NULL}, *env[] = {signals[_i].variable, NULL};
    int number = signals[_i].at_rtmin ? SIGRTMIN + signals[_i].offset : signals[_i].offset;
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env});
    host_wait_line(&h, "ready");
    int64_t before = host_anon(&h);
    host_kill(&h, number);
    host_wait_log(&h, "\"action\":", 1);
    ck_assert_msg(host_anon(&h) < before / 2, "%s: RssAnon %ld -> %ld", env[0], (long)before, (long)host_anon(&h));
    host_kill(&h, SIGUSR1); /* which is not ours any more */
    ck_assert_int_eq(host_end(&h), SIGUSR1);
    host_clean(&h);
}
END_TEST

START_TEST(test_promise_04_no_signal_at_all)
{
    const char *argv[] = {"idle", NULL}, *env[] = {"GIVEBACK_SIGNAL=none", NULL};
    struct host bare, h;
    host_start(&bare, &(struct host_setup){.argv = argv});
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env});
    host_wait_line(&bare, "ready");
    host_wait_line(&h, "ready");
    ck_assert_uint_eq(host_mask(&h, "SigCgt"), host_mask(&bare, "SigCgt"));
    host_kill(&h, SIGUSR1);
    ck_assert_int_eq(host_end(&h), SIGUSR1);
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

static const char *const late_ways[] = {"own", "default", "urg"};
static const char *const late_delays[] = {"0", "1000", "3000", "5000"};

/* A release that could not begin yet is tried again by signals of our own: none of them may hit what the host installs then. */
START_TEST(test_promise_04_no_signal_that_nobody_sent)
{
    const char *way = late_ways[_i % 3], *argv[] = {"lateown", way, late_delays[_i / 3], NULL};
    struct host bare, h;
    host_victim(&bare, "lateown", way, GLIBC, WITHOUT);
    (void)host_end(&bare);
    for (int n = 0; n < 5; n++) {
        host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
        (void)host_end(&h);
        host_compare(&bare, &h, way);
        host_clean(&h);
    }
    host_clean(&bare);
}
END_TEST

/* What an old signal has left on the stack is not a running handler: the release begins where the host blocks. */
START_TEST(test_promise_04_release_below_the_remains_of_a_signal)
{
    struct host h;
    host_victim(&h, "deepread", _i ? "ours" : "own", GLIBC, FIRST);
    host_wait_line(&h, "ready");
    if (_i)
        host_wait_log(&h, "\"action\":", 1);
    host_release(&h);
    host_say(&h, "x");
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

/* Two signals at once to a host that computes, so that the second finds the first on its way: each is a release or is
 * counted as merged with one. */
START_TEST(test_promise_04_no_event_is_lost)
{
    const char *argv[] = {"churn", "2", "6000", NULL}, *env[] = {"GIVEBACK_SIGNAL=RTMIN+9", NULL};
    char record[4096];
    struct host h;
    int64_t events = 0;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env});
    host_wait_line(&h, "ready");
    for (int i = 0; i < 200; i++)
        host_kill(&h, SIGRTMIN + 9); /* real-time signals queue: none is lost by the kernel */
    host_wait_log(&h, "\"action\":", 1);
    ck_assert_int_eq(host_end(&h), 0);
    for (unsigned n = 0; n < host_records(&h); n++) {
        host_record(&h, n, record, sizeof record);
        events += 1 + json_number(record, "merged");
    }
    ck_assert_int_eq(events, 200);
    host_clean(&h);
}
END_TEST

Suite *suite_promise_signal(void)
{
    Suite *s = suite_create("promise_signal");
    TCase *t = tcase_create("signal");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_promise_04_host_handler_from_the_start, 0, WAYS);
    tcase_add_loop_test(t, test_promise_04_host_handler_later, 0, WAYS);
    tcase_add_loop_test(t, test_promise_04_sigaction_shows_the_hosts_own_value, 0, CELLS);
    tcase_add_loop_test(t, test_promise_04_host_that_means_to_die_dies, 0, 2 * (int)(sizeof die_ways / sizeof *die_ways));
    tcase_add_loop_test(t, test_promise_04_signal_that_is_waited_for_is_the_hosts, 0, 5);
    tcase_add_loop_test(t, test_promise_04_mask_opened_inside_a_call, 0, 4);
    tcase_add_loop_test(t, test_promise_04_ignored_stays_ignored, 0, 5);
    tcase_add_loop_test(t, test_promise_04_other_signals, 0, (int)(sizeof signals / sizeof *signals));
    tcase_add_test(t, test_promise_04_no_signal_at_all);
    tcase_add_loop_test(t, test_promise_04_no_signal_that_nobody_sent, 0, 3 * (int)(sizeof late_delays / sizeof *late_delays));
    tcase_add_loop_test(t, test_promise_04_release_below_the_remains_of_a_signal, 0, 2);
    tcase_add_test(t, test_promise_04_no_event_is_lost);
    suite_add_tcase(s, t);
    return s;
}
