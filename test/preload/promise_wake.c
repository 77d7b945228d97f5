/* Promises 5 and 7: what a signal of ours does to the call that it interrupts. Calls that SA_RESTART restarts never show
 * EINTR, calls without a timeout are not woken, and the host's own signal at the same moment is never lost. */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

struct call {
    const char *victim, *call;
    long syscall;
};

static void blocked_call(const struct call *c, enum allocator a, enum place p)
{
    const char *argv[] = {c->victim, c->call, NULL};
    host_blocked_same(&(struct host_setup){.argv = argv, .allocator = a, .place = p}, c->syscall, c->call);
}

static const struct call restarted[] = {
    {"restart", "read", SYS_read},       {"restart", "recv", SYS_recvfrom}, {"restart", "recvmsg", SYS_recvmsg},
    {"restart", "readv", SYS_readv},     {"restart", "flock", SYS_flock},   {"restart", "wait", SYS_wait4},
    {"restart", "waitpid", SYS_wait4},   {"restart", "cond", SYS_futex},    {"restart", "open", SYS_openat},
    {"restart", "sem", SYS_futex},       {"join", "join", SYS_futex},       {"join", "mutex", SYS_futex},
    {"join", "rwlock", SYS_futex},       {"join", "barrier", SYS_futex},    {"join", "accept", SYS_accept},
};

START_TEST(test_promise_05_restartable_call_never_shows_eintr)
{
    blocked_call(&restarted[_i], GLIBC, FIRST);
}
END_TEST

#ifdef SYS_poll
static const struct call endless[] = {
    {"nowake", "poll", SYS_poll},           {"nowake", "ppoll", SYS_ppoll}, {"nowake", "select", SYS_pselect6},
    {"nowake", "pselect", SYS_pselect6},    {"nowake", "epoll_wait", SYS_epoll_wait}, {"nowake", "pause", SYS_pause},
    {"nowake", "sigsuspend", SYS_rt_sigsuspend}, {"patient", "sigwaitinfo", SYS_rt_sigtimedwait},
    {"patient", "msgrcv", SYS_msgrcv},      {"patient", "sem_timedwait", SYS_futex}, {"patient", "sleep_until", SYS_clock_nanosleep},
};
#else
static const struct call endless[] = {
    {"nowake", "poll", SYS_ppoll},          {"nowake", "ppoll", SYS_ppoll}, {"nowake", "select", SYS_pselect6},
    {"nowake", "pselect", SYS_pselect6},    {"nowake", "epoll_wait", SYS_epoll_pwait}, {"nowake", "pause", SYS_ppoll},
    {"nowake", "sigsuspend", SYS_rt_sigsuspend},
};
#endif
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

START_TEST(test_promise_05_call_without_timeout_is_not_woken)
{
    blocked_call(&endless[_i], GLIBC, FIRST);
}
END_TEST

START_TEST(test_promise_05_poll_is_not_woken_under_any_allocator)
{
    enum allocator a = CELL_ALLOCATOR(_i);
    if (harness_allocator(a, "test_promise_05_poll_is_not_woken_under_any_allocator"))
        blocked_call(&endless[0], a, CELL_PLACE(_i));
}
END_TEST

/* sleep(1) and its like count what is left where it stands, so that they can be gone on with: not a moment too short. */
START_TEST(test_promise_05_sleep_is_not_cut_short)
{
    static const char *const argv[] = {"/bin/sleep", "1.5", NULL};
    struct host h;
    int64_t start = harness_now();
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_caught(&h, SIGUSR1);
    (void)host_storm(&h, SIGUSR1, 100);
    ck_assert_int_eq(h.status, 0);
    ck_assert_int_ge(harness_now() - start, 1500);
    ck_assert_uint_gt(host_records(&h), 0);
    host_clean(&h);
}
END_TEST

static const char *const timeouts[] = {"poll", "ppoll", "select", "epoll_wait", "nanosleep", "clock", "usleep"};

START_TEST(test_promise_05_timeout_ends_neither_early_nor_late)
{
    struct host h;
    host_victim(&h, "timeout", timeouts[_i], GLIBC, FIRST);
    host_wait_line(&h, "ready");
    (void)host_storm(&h, SIGUSR1, 50);
    ck_assert_msg(h.status == 0, "%s: status %#x, %s", timeouts[_i], h.status, file_text(h.out));
    ck_assert_uint_gt(host_records(&h), 0);
    host_clean(&h);
}
END_TEST

static const char *const term_calls[] = {"poll", "ppoll", "select", "pselect", "epoll", "pause", "sigsuspend"};

static void both_signals(const char *call, const char *rounds, enum allocator a, enum place p)
{
    const char *argv[] = {"gotterm", call, rounds, p == WITHOUT ? NULL : "both", NULL};
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .allocator = a, .place = p});
    ck_assert_msg(host_end(&h) == 0, "%s: status %#x", call, h.status);
    ck_assert_uint_eq(host_records(&h) > 0, p != WITHOUT);
    host_clean(&h);
}

START_TEST(test_promise_05_hosts_own_signal_at_the_same_moment_10000_times)
{
    both_signals(term_calls[_i], "10000", GLIBC, WITHOUT);
    both_signals(term_calls[_i], "10000", GLIBC, FIRST);
}
END_TEST

START_TEST(test_promise_05_hosts_own_signal_under_any_allocator)
{
    enum allocator a = CELL_ALLOCATOR(_i);
    if (harness_allocator(a, "test_promise_05_hosts_own_signal_under_any_allocator"))
        both_signals(term_calls[_i % COUNT(term_calls)], "3000", a, CELL_PLACE(_i));
}
END_TEST

/* Signals at that rate from "ready" to the end; output and status as without the library. */
static void under_storm(const char *const *argv, enum allocator a, enum place p, unsigned per_second)
{
    struct host bare, h;
    host_start(&bare, &(struct host_setup){.argv = argv, .allocator = a});
    (void)host_end(&bare);
    host_start(&h, &(struct host_setup){.argv = argv, .allocator = a, .place = p});
    host_wait_line(&h, "ready");
    unsigned sent = host_storm(&h, SIGUSR1, per_second);
    host_compare(&bare, &h, argv[0]);
    ck_assert_msg(host_records(&h) > 0, "%u signals, no release: %s", sent, file_text(h.log));
    host_clean(&bare);
    host_clean(&h);
}

START_TEST(test_promise_05_storm_of_10_khz_on_allocating_threads)
{
    static const char *const argv[] = {"churn", "4", "300", NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    if (harness_allocator(a, "test_promise_05_storm_of_10_khz_on_allocating_threads"))
        under_storm(argv, a, CELL_PLACE(_i), 10000);
}
END_TEST

START_TEST(test_promise_07_exceptions_pass_under_a_storm)
{
    static const char *const argv[] = {"throw", NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    if (harness_allocator(a, "test_promise_07_exceptions_pass_under_a_storm"))
        under_storm(argv, a, CELL_PLACE(_i), 5000);
}
END_TEST

START_TEST(test_promise_07_cancellation_passes_under_a_storm)
{
    static const char *const argv[] = {"cancel", NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    if (harness_allocator(a, "test_promise_07_cancellation_passes_under_a_storm"))
        under_storm(argv, a, CELL_PLACE(_i), 2000);
}
END_TEST

Suite *suite_promise_wake(void)
{
    Suite *s = suite_create("promise_wake");
    TCase *t = tcase_create("wake");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_promise_05_restartable_call_never_shows_eintr, 0, COUNT(restarted));
    tcase_add_loop_test(t, test_promise_05_call_without_timeout_is_not_woken, 0, COUNT(endless));
    tcase_add_loop_test(t, test_promise_05_poll_is_not_woken_under_any_allocator, 0, CELLS);
    tcase_add_test(t, test_promise_05_sleep_is_not_cut_short);
    tcase_add_loop_test(t, test_promise_05_timeout_ends_neither_early_nor_late, 0, COUNT(timeouts));
    tcase_add_loop_test(t, test_promise_05_hosts_own_signal_at_the_same_moment_10000_times, 0, COUNT(term_calls));
    tcase_add_loop_test(t, test_promise_05_hosts_own_signal_under_any_allocator, 0, CELLS);
    tcase_add_loop_test(t, test_promise_05_storm_of_10_khz_on_allocating_threads, 0, CELLS);
    tcase_add_loop_test(t, test_promise_07_exceptions_pass_under_a_storm, 0, CELLS);
    tcase_add_loop_test(t, test_promise_07_cancellation_passes_under_a_storm, 0, CELLS);
    suite_add_tcase(s, t);
    return s;
}
