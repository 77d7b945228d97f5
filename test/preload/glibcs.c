/* Other glibcs, unpacked by scripts/fetch-glibcs: 2.31 keeps threads in a library of their own, 2.41 makes its cancellable
 * system calls in another way. The victims are linked against the older one and run under its ld.so or the newer one's. */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static const struct {
    const char *name, *folder;
} glibcs[] = {{"glibc 2.31", "bullseye/lib"}, {"glibc 2.41", "trixie/usr/lib"}};

static char loader[500], libraries[400], program[400];

/* The command line of a victim under that glibc; false, and counted as skipped, when it is not there. */
static bool under(int glibc, const char *test, const char *victim, const char *const *rest, const char *argv[8])
{
    char what[200];
    (void)snprintf(libraries, sizeof libraries, "%s/glibc/%s/x86_64-linux-gnu", harness_build(), glibcs[glibc].folder);
    (void)snprintf(loader, sizeof loader, "%s/ld-linux-x86-64.so.2", libraries);
    (void)snprintf(program, sizeof program, "%s/glibc/victim/%s", harness_build(), victim);
    if (!file_exists(loader) || !file_exists(program)) {
        (void)snprintf(what, sizeof what, "%s under %s", test, glibcs[glibc].name);
        harness_skip(what, "scripts/fetch-glibcs could not fetch it");
        return false;
    }
    const char *command[] = {loader, "--library-path", libraries, program};
    size_t n = 0;
    while (n < 4) {
        argv[n] = command[n];
        n++;
    }
    for (; rest && *rest; rest++)
        argv[n++] = *rest;
    argv[n] = NULL;
    return true;
}

static const struct {
    const char *victim, *call;
    long syscall;
} calls[] = {
    {"restart", "read", SYS_read}, {"restart", "cond", SYS_futex}, {"restart", "sem", SYS_futex}, {"restart", "waitpid", SYS_wait4},
    {"join", "join", SYS_futex},   {"join", "accept", SYS_accept}, {"nowake", "poll", SYS_poll},  {"nowake", "epoll_wait", SYS_epoll_wait},
    {"nowake", "select", SYS_select}, {"nowake", "pause", SYS_pause},
};

START_TEST(test_other_glibc_blocked_calls)
{
    const char *argv[8], *rest[] = {calls[_i / 2].call, NULL};
    long number = calls[_i / 2].syscall;
    if (number == SYS_select && _i % 2) /* 2.31 has select(2), later ones have pselect6 */
        number = SYS_pselect6;
    if (under(_i % 2, "test_other_glibc_blocked_calls", calls[_i / 2].victim, rest, argv))
        host_blocked_same(&(struct host_setup){.argv = argv, .place = FIRST}, number, calls[_i / 2].call);
}
END_TEST

static const char *const whole[][3] = {{"cancel"}, {"churn", "4", "200"}, {"compute", "300"}, {"timeout", "poll"},
                                       {"gotterm", "poll", "3000"}, {"gotterm", "epoll", "3000"}};

/* Under signals at 1 kHz to its end. */
START_TEST(test_other_glibc_under_a_storm)
{
    const char *argv[8], *rest[] = {whole[_i / 2][1], whole[_i / 2][1] ? whole[_i / 2][2] : NULL, NULL};
    struct host bare, h;
    if (!under(_i % 2, "test_other_glibc_under_a_storm", whole[_i / 2][0], rest, argv))
        return;
    host_start(&bare, &(struct host_setup){.argv = argv});
    (void)host_end(&bare);
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_caught(&h, SIGUSR1);
    (void)host_storm(&h, SIGUSR1, 1000);
    host_compare(&bare, &h, program);
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

static const char *const talks[][3] = {{"query", NULL, "2"}, {"setids", NULL, "1"}, {"lastthread", "main", "1"}, {"hold", NULL, "1"}};

START_TEST(test_other_glibc_conversations)
{
    const char *argv[8], *rest[] = {talks[_i / 2][1], NULL};
    if (under(_i % 2, "test_other_glibc_conversations", talks[_i / 2][0], rest, argv))
        (void)host_same(&(struct host_setup){.argv = argv, .place = FIRST}, (unsigned)atoi(talks[_i / 2][2]), 1);
}
END_TEST

START_TEST(test_other_glibc_memory_falls)
{
    const char *argv[8];
    struct host h;
    if (!under(_i, "test_other_glibc_memory_falls", "hold", NULL, argv))
        return;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_line(&h, "ready");
    int64_t before = host_anon(&h);
    host_release(&h);
    ck_assert_msg(host_anon(&h) < before / 2, "RssAnon %ld -> %ld", (long)before, (long)host_anon(&h));
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

/* A program without libpthread on a glibc where that is a library of its own: one line, which says what helps; and it does. */
START_TEST(test_old_glibc_without_its_thread_library)
{
    const char *argv[8];
    struct host h;
    if (!under(0, "test_old_glibc_without_its_thread_library", "idle-single", NULL, argv))
        return;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_line(&h, "ready");
    for (int i = 0; i < 3; i++)
        host_deliver(&h, SIGUSR1, SYS_read);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    ck_assert_msg(host_notices(&h) == 1 && host_count_log(&h, "libpthread.so.0") == 1, "%s", file_text(h.log));
    host_clean(&h);
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .preload = "libpthread.so.0:"});
    host_wait_line(&h, "ready");
    host_release(&h);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    host_clean(&h);
}
END_TEST

static const struct { const char *victim, *way, *event; } marked[] = {
    {"printer", "printf", "log:finished"}, {"printer", "putc", "log:finished"}, {"printer", "perror", "log:finished"},
    {"printer", "syslog", "log:finished"}, {"printer", "write", "log:finished"}, {"printer", "writev", "log:finished"},
    {"printer", "pwritev2", "log:finished"}, {"printer", "dup3", "log:finished"}, {"printer", "fcntl", "log:finished"},
    {"printer", "cancelless", "log:finished"}, {"printer", "reopened", "log:finished"}, {"mapper", "mmap", "mmap:16M"}, {"mapper", "large", "munmap:16M"},
    {"mapper", "small", "mmap:16M"}, {"mapper", "sbrk", "munmap:16M"}, {"mapper", "mremap", "mmap:16M"},
};

START_TEST(test_other_glibc_log_and_mapping)
{
    const char *argv[8], *rest[] = {marked[_i / 2].way, NULL}, *event = marked[_i / 2].event;
    char on[100];
    const char *const env[] = {on, NULL};
    struct host bare, h;

    if (!under(_i % 2, "test_other_glibc_log_and_mapping", marked[_i / 2].victim, rest, argv))
        return;
    (void)snprintf(on, sizeof on, "GIVEBACK_ON=%s->mark; log:all said->mark", event);
    host_start(&bare, &(struct host_setup){.argv = argv, .input = ""});
    (void)host_end(&bare);
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env});
    host_wait_log(&h, "\"event\":\"log:all said\"", 1);
    host_wait_log(&h, event, 1);
    (void)host_end(&h);
    host_compare(&bare, &h, marked[_i / 2].way);
    ck_assert_msg(host_notices(&h) == 0 && host_count_log(&h, event) == 1, "%s", file_text(h.log));
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

Suite *suite_glibcs(void)
{
    Suite *s = suite_create("glibcs");
    TCase *t = tcase_create("glibcs");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_other_glibc_blocked_calls, 0, 2 * COUNT(calls));
    tcase_add_loop_test(t, test_other_glibc_under_a_storm, 0, 2 * COUNT(whole));
    tcase_add_loop_test(t, test_other_glibc_conversations, 0, 2 * COUNT(talks));
    tcase_add_loop_test(t, test_other_glibc_memory_falls, 0, 2);
    tcase_add_loop_test(t, test_other_glibc_log_and_mapping, 0, 2 * COUNT(marked));
    tcase_add_test(t, test_old_glibc_without_its_thread_library);
    suite_add_tcase(s, t);
    return s;
}
