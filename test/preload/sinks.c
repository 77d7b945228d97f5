/* Where the record goes must never be the host's trouble: a full disk, a closed stderr, a pipe without a reader or without
 * room, a file that is rotated away. What was lost is counted in the next record. */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* stderr from the start: a pipe whose reader has gone, or one that is full. */
static void broken_stderr(void)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0 || dup2(pipes[1], 2) < 0)
        _exit(95);
}

static void full_stderr(void)
{
    static const char junk[1 << 16];
    int pipes[2];
    if (pipe(pipes) != 0 || fcntl(pipes[1], F_SETFL, O_NONBLOCK) != 0)
        _exit(94);
    while (write(pipes[1], junk, sizeof junk) > 0)
        ;
    if (fcntl(pipes[1], F_SETFL, 0) != 0 || dup2(pipes[1], 2) < 0)
        _exit(93);
}

static const struct {
    const char *way;
    void (*before_exec)(void);
} stderrs[] = {{"close", NULL}, {"database", NULL}, {"leave", broken_stderr}, {"leave", full_stderr}};

START_TEST(test_stderr_that_cannot_take_the_record)
{
    struct host bare, h;
    const char *argv[] = {"stderrs", stderrs[_i].way, NULL};
    host_start(&bare, &(struct host_setup){.argv = argv, .before_exec = stderrs[_i].before_exec});
    host_wait_line(&bare, "ready");
    host_say(&bare, "\n");
    (void)host_end(&bare);
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = "stderr", .before_exec = stderrs[_i].before_exec});
    host_wait_line(&h, "ready");
    host_kill(&h, SIGUSR1);
    host_wait_worker(&h, true);
    host_wait_worker(&h, false); /* a worker that blocked in its write would stay */
    host_say(&h, "\n");
    (void)host_end(&h);
    host_compare(&bare, &h, stderrs[_i].way);
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

START_TEST(test_record_on_stderr_is_one_line)
{
    const char *argv[] = {"idle", NULL}, *env[] = {"GIVEBACK_FORMAT=text", NULL};
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = "stderr", .env = env});
    (void)snprintf(h.log, sizeof h.log, "%s/err", h.dir);
    host_wait_line(&h, "ready");
    host_kill(&h, SIGUSR1);
    host_wait_log(&h, "giveback[", 1);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    char *err = file_text(h.err), *end = strchr(err, '\n');
    ck_assert_msg(end && !end[1] && strstr(err, "RssAnon"), "not one line: %s", err);
    host_clean(&h);
}
END_TEST

static void no_file_size(void)
{
    (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){60, 60}); /* enough for "ready", too little for a record; SIGXFSZ kills */
}

static const char *const bad_logs[] = {NULL, "/dev/full", "/nonexistent/folder/log", "/", "none", "/proc/self/mem"};

START_TEST(test_log_that_cannot_be_written)
{
    const char *argv[] = {"hold", NULL};
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = bad_logs[_i], .before_exec = _i ? NULL : no_file_size});
    host_wait_line(&h, "ready");
    int64_t before = host_anon(&h);
    host_kill(&h, SIGUSR1);
    host_wait_worker(&h, true);
    host_wait_worker(&h, false);
    ck_assert_int_lt(host_anon(&h), before / 2);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

/* Two records are lost while the log's folder is away; the next that can be written says so. */
START_TEST(test_lost_records_are_counted_in_the_next)
{
    const char *argv[] = {"idle", NULL};
    char folder[400], away[440], record[4096];
    struct host h;
    (void)snprintf(folder, sizeof folder, "%s/scratch/folder.%d", harness_build(), (int)getpid());
    (void)snprintf(away, sizeof away, "%s.away", folder);
    ck_assert_int_eq(mkdir(folder, 0755), 0);
    char log[450];
    (void)snprintf(log, sizeof log, "%s/log", folder);
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = log});
    (void)snprintf(h.log, sizeof h.log, "%.300s", log);
    host_wait_line(&h, "ready");
    host_release(&h);
    ck_assert_int_eq(rename(folder, away), 0);
    for (int i = 0; i < 2; i++) {
        host_wait_worker(&h, false);
        host_kill(&h, SIGUSR1);
        host_wait_worker(&h, true);
    }
    host_wait_worker(&h, false);
    ck_assert_int_eq(rename(away, folder), 0);
    host_release(&h);
    host_record(&h, 1, record, sizeof record);
    ck_assert_int_eq(json_number(record, "lost"), 2);
    (void)host_end(&h);
    ck_assert(unlink(log) == 0 && rmdir(folder) == 0);
    host_clean(&h);
}
END_TEST

START_TEST(test_log_file_that_is_rotated_away)
{
    char old[400];
    struct host h;
    host_victim(&h, "idle", NULL, GLIBC, FIRST);
    host_wait_line(&h, "ready");
    host_release(&h);
    host_release(&h);
    (void)snprintf(old, sizeof old, "%s/log.1", h.dir);
    ck_assert_int_eq(rename(h.log, old), 0);
    host_release(&h); /* into a new file of the old name */
    ck_assert_uint_eq(host_records(&h), 1);
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

/* Many processes, one file: a record is one O_APPEND write, so no line is torn. */
START_TEST(test_many_hosts_write_one_log)
{
    enum { HOSTS = 12, EACH = 20 };
    struct host h[HOSTS];
    const char *argv[] = {"idle", NULL};
    char log[400];
    (void)snprintf(log, sizeof log, "%s/scratch/common.%d", harness_build(), (int)getpid());
    for (int i = 0; i < HOSTS; i++) {
        host_start(&h[i], &(struct host_setup){.argv = argv, .place = FIRST, .log = log});
        (void)snprintf(h[i].log, sizeof h[i].log, "%.300s", log);
        host_wait_line(&h[i], "ready");
    }
    for (unsigned n = 1; n <= EACH; n++) {
        for (int i = 0; i < HOSTS; i++)
            host_kill(&h[i], SIGUSR1);
        host_wait_log(&h[0], "\"action\":", n * HOSTS);
    }
    for (int i = 0; i < HOSTS; i++)
        ck_assert_int_eq(host_end(&h[i]), 7 << 8);
    char *text = file_text(log), *rest = text, *line;
    while ((line = strsep(&rest, "\n")))
        ck_assert_msg(!*line || (line[0] == '{' && line[strlen(line) - 1] == '}' && !strstr(line + 1, "{\"v\"")), "torn: %s", line);
    free(text);
    ck_assert_int_eq(unlink(log), 0);
    for (int i = 0; i < HOSTS; i++)
        host_clean(&h[i]);
}
END_TEST

Suite *suite_sinks(void)
{
    Suite *s = suite_create("sinks");
    TCase *t = tcase_create("sinks");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_stderr_that_cannot_take_the_record, 0, 4);
    tcase_add_test(t, test_record_on_stderr_is_one_line);
    tcase_add_loop_test(t, test_log_that_cannot_be_written, 0, (int)(sizeof bad_logs / sizeof *bad_logs));
    tcase_add_test(t, test_lost_records_are_counted_in_the_next);
    tcase_add_test(t, test_log_file_that_is_rotated_away);
    tcase_add_test(t, test_many_hosts_write_one_log);
    suite_add_tcase(s, t);
    return s;
}
