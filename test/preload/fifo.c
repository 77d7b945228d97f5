/* fifo:PATH: a line is an event and its label; whatever else is written, and whatever stands at the path. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const on_fifo[] = {"GIVEBACK_ON=fifo:f", NULL}; /* in the host's own folder */
static const char *const idle[] = {"idle", NULL};
static char path[400];
static const char *log_target; /* NULL: the file of the harness */

/* A host with a FIFO, and its writing end. */
static int start(struct host *h, const char *const *argv, const char *const *env, void (*before_exec)(void))
{
    host_start(h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .before_exec = before_exec, .log = log_target});
    if (log_target)
        (void)snprintf(h->log, sizeof h->log, "%s", h->err);
    host_wait_line(h, "ready");
    (void)snprintf(path, sizeof path, "%s/f", h->dir);
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000;; harness_look_again()) {
        int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC); /* ENXIO: nobody reads yet */
        if (fd >= 0)
            return fcntl(fd, F_SETFL, 0), fd;
        if (host_gone(h) || harness_now() > end)
            host_fail(h, "waiting for the FIFO");
    }
}

static void put(int fd, const char *bytes, size_t n)
{
    ck_assert_msg(write(fd, bytes, n) == (ssize_t)n, "the FIFO does not take %zu bytes: %s", n, strerror(errno));
}

static void say(struct host *h, int fd, const char *label)
{
    char text[100];
    put(fd, text, (size_t)snprintf(text, sizeof text, "%s\n", label));
    (void)snprintf(text, sizeof text, "\"label\":\"%s\"", label);
    host_wait_log(h, text, 1);
}

START_TEST(test_line_is_an_event_and_its_label)
{
    static const char *const env[] = {"GIVEBACK_ON=mine=fifo:f->mark", NULL};
    char record[4096], text[64];
    struct stat st;
    struct host h;
    int fd = start(&h, idle, env, NULL);
    ck_assert(lstat(path, &st) == 0 && S_ISFIFO(st.st_mode) && (st.st_mode & 0777) == 0600);
    say(&h, fd, "weight load");
    put(fd, "\n", 1);
    host_record(&h, 1, record, sizeof record);
    json_string(record, "label", text, sizeof text);
    ck_assert_str_eq(text, "mine");
    json_string(record, "event", text, sizeof text);
    ck_assert_str_eq(text, "fifo:f");
    json_string(record, "action", text, sizeof text);
    ck_assert_str_eq(text, "mark");
    close(fd);
    host_worker_rests(&h, "without a writer");
    fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "nobody reads any more: %s", strerror(errno));
    say(&h, fd, "the next writer");
    ck_assert_int_eq(host_end(&h), 7 << 8);
    ck_assert_msg(!file_exists(path), "the FIFO is left after a regular end");
    host_clean(&h);
}
END_TEST

START_TEST(test_junk_partial_lines_and_a_megabyte)
{
    static char junk[1 << 20];
    struct host h;
    int fd = start(&h, idle, on_fifo, NULL);
    put(fd, "in two ", 7);
    put(fd, "\0\xff\x1b\0\n", 5);
    host_wait_log(&h, "\"label\":null", 1);
    put(fd, "in two ", 7);
    put(fd, "pieces\n", 7);
    host_wait_log(&h, "\"label\":\"in two pieces\"", 1);
    unsigned n = host_records(&h);
    memset(junk, 'x', sizeof junk);
    for (size_t at = 0; at < sizeof junk; at += 65536)
        put(fd, junk + at, 65536);
    host_worker_rests(&h, "in a line without an end");
    ck_assert_uint_eq(host_records(&h), n);
    put(fd, "\n", 1);
    host_wait_log(&h, "xxx...\"", 1);
    for (unsigned i = 0; i < sizeof junk; i++)
        junk[i] = (char)(i * 2654435761U >> 13);
    for (size_t at = 0; at < sizeof junk; at += 65536)
        put(fd, junk + at, 65536);
    put(fd, "\n", 1);
    say(&h, fd, "after junk");
    ck_assert_int_eq(host_end(&h), 7 << 8);
    host_clean(&h);
}
END_TEST

/* 10,000 lines a second for three seconds: each is counted, the last is in the last record, nothing grows, and then it rests. */
START_TEST(test_storm_of_lines)
{
    enum { LINES = 30000 };
    char record[4096], text[64];
    struct host h;
    struct timespec next;
    unsigned long merged = 0;
    int fd = start(&h, idle, on_fifo, NULL);
    say(&h, fd, "before");
    int64_t anon = host_anon(&h);
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    for (int i = 0; i < LINES; i++) {
        put(fd, text, (size_t)snprintf(text, sizeof text, "line %d\n", i));
        next.tv_nsec += 100000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    (void)snprintf(text, sizeof text, "\"label\":\"line %d\"", LINES - 1);
    host_wait_log(&h, text, 1);
    host_worker_rests(&h, "after a storm");
    ck_assert_int_lt(host_anon(&h), anon + (1 << 20));
    unsigned records = host_records(&h);
    char *log = file_text(h.log), *rest = log, *line;
    while ((line = strsep(&rest, "\n")) && *line) {
        merged += (unsigned long)json_number(line, "merged");
        (void)snprintf(record, sizeof record, "%s", line);
    }
    free(log);
    ck_assert_msg(strstr(record, text), "the last record is %s", record);
    ck_assert_uint_eq(records + merged, LINES + 1);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    host_clean(&h);
}
END_TEST

static const char *const fifo_hosts[][3] = {{"closefds", "loop"}, {"closefds", "range"}, {"closefds", "dup2"},
                                            {"drops", "root"},    {"drops", "user"},     {"drops", "descriptors"}, {"drops", "all"}};

START_TEST(test_hosts_that_close_and_give_up_everything)
{
    struct host bare, h;
    bool twice = strcmp(fifo_hosts[_i][0], "closefds") == 0;
    if (getuid() != 0 && (_i == 3 || _i == 4)) {
        harness_skip("test_hosts_that_close_and_give_up_everything", "not root");
        return;
    }
    log_target = _i == 3 || _i == 4 ? "stderr" : NULL; /* a file could not be opened any more in another root or as another user */
    host_start(&bare, &(struct host_setup){.argv = fifo_hosts[_i]});
    int fd = start(&h, fifo_hosts[_i], on_fifo, NULL);
    say(&h, fd, "before");
    for (int i = 0; i < 2; i++) {
        struct host *both[] = {&bare, &h};
        host_say(both[i], "\n");
        twice ? host_wait_lines(both[i], "ready", 2) : (void)0;
        for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; !twice && !strstr(file_text(both[i]->out), "dropped"); harness_look_again())
            if (harness_now() > end)
                host_fail(both[i], "waiting for the host to give something up");
    }
    say(&h, fd, "afterwards");
    host_worker_rests(&h, fifo_hosts[_i][1]);
    if (twice) {
        host_say(&bare, "\n");
        host_say(&h, "\n");
    }
    (void)host_end(&bare);
    (void)host_end(&h);
    if (log_target)
        ck_assert_int_eq(truncate(h.err, 0), 0);
    host_compare(&bare, &h, fifo_hosts[_i][1]);
    if (_i != 4)
        ck_assert(!file_exists(path));
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

static const struct {
    const char *what, *said;
} planted[] = {{"link", "fifo:f: is no FIFO"},
               {"file", "fifo:f: is no FIFO"},
               {"device", "fifo:f: is no FIFO"},
               {"open", "fifo:f: may be written by others; chmod it to 0600"},
               {"foreign", "fifo:f: belongs to another user"},
               {"folder", "fifo:f: its folder may be written by others"}};

static void plant(void)
{
    const char *what = getenv("PLANT");
    int bad = strcmp(what, "link") == 0     ? symlink("/dev/null", "f")
              : strcmp(what, "file") == 0   ? open("f", O_CREAT | O_WRONLY, 0600) < 0
              : strcmp(what, "device") == 0 ? mknod("f", S_IFCHR | 0600, 0x103)
              : strcmp(what, "open") == 0   ? mkfifo("f", 0600) || chmod("f", 0622)
              : strcmp(what, "foreign") == 0 ? mkfifo("f", 0600) || chown("f", 65534, 65534)
                                             : mkfifo("f", 0600) || chmod(".", 0777);
    if (bad)
        _exit(90);
}

START_TEST(test_what_stands_in_its_place_is_refused)
{
    struct host h;
    struct stat before, after;
    if (getuid() != 0) {
        harness_skip("test_what_stands_in_its_place_is_refused", "not root");
        return;
    }
    ck_assert_int_eq(setenv("PLANT", planted[_i].what, 1), 0);
    host_start(&h, &(struct host_setup){.argv = idle, .place = FIRST, .env = on_fifo, .before_exec = plant});
    host_wait_line(&h, "ready");
    (void)snprintf(path, sizeof path, "%s/f", h.dir);
    ck_assert_int_eq(lstat(path, &before), 0);
    host_wait_log(&h, planted[_i].said, 1);
    ck_assert_uint_eq(host_notices(&h), 1);
    host_release(&h);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    ck_assert_int_eq(lstat(path, &after), 0);
    ck_assert(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
    host_clean(&h);
}
END_TEST

START_TEST(test_another_user_can_neither_write_nor_read)
{
    struct host h;
    int status;
    if (getuid() != 0) {
        harness_skip("test_another_user_can_neither_write_nor_read", "not root");
        return;
    }
    int fd = start(&h, idle, on_fifo, NULL);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
            _exit(100);
        int in = open(path, O_RDONLY | O_NONBLOCK), in_error = errno, out = open(path, O_WRONLY | O_NONBLOCK);
        _exit(in < 0 && out < 0 && in_error == EACCES && errno == EACCES ? 0 : 1);
    }
    ck_assert(waitpid(pid, &status, 0) == pid && status == 0);
    say(&h, fd, "the owner can");
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

static void own_fifo(void)
{
    if (mkfifo("f", 0600) != 0)
        _exit(90);
}

static void no_mode(void)
{
    umask(0777);
}

/* One that was there is the user's: used, and left. A umask that takes every right away does not stop one from being made. */
START_TEST(test_fifo_that_was_there_stays)
{
    struct host h;
    int fd = start(&h, idle, on_fifo, _i ? no_mode : own_fifo);
    say(&h, fd, "one");
    (void)host_end(&h);
    ck_assert_int_eq(file_exists(path), _i == 0);
    host_clean(&h);
}
END_TEST

/* Somebody has put another file there meanwhile: it is not ours to remove. */
START_TEST(test_fifo_that_was_replaced_is_left)
{
    struct host h;
    int fd = start(&h, idle, on_fifo, NULL);
    ck_assert(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    say(&h, fd, "one");
    (void)host_end(&h);
    ck_assert(file_exists(path));
    host_clean(&h);
}
END_TEST

/* Two readers would each get some of the lines. */
START_TEST(test_second_process_at_the_same_path_is_told)
{
    char env[440];
    const char *list[] = {env, NULL};
    struct host h, other;
    int fd = start(&h, idle, on_fifo, NULL);
    (void)snprintf(env, sizeof env, "GIVEBACK_ON=fifo:%.380s", path);
    host_start(&other, &(struct host_setup){.argv = idle, .place = FIRST, .env = list});
    host_wait_log(&other, "another process reads from it", 1);
    say(&h, fd, "one");
    (void)host_end(&other);
    ck_assert(file_exists(path));
    say(&h, fd, "two");
    (void)host_end(&h);
    host_clean(&other);
    host_clean(&h);
}
END_TEST

/* %p: a forked child makes one of its own; without it, the parent's is left to the parent. */
START_TEST(test_forked_children)
{
    static const char *const env[][2] = {{"GIVEBACK_ON=fifo:f;fifo:own.%n.%p", NULL}};
    const char *argv[] = {"forks", "fork", NULL};
    char own[450], text[100];
    struct host h;
    pid_t child = 0;
    int fd = start(&h, argv, env[0], NULL);
    host_say(&h, "\n");
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; !child; harness_look_again()) {
        char *out = file_text(h.out), *at = strstr(out, "child ");
        child = at && strchr(at, '\n') ? (pid_t)atoi(at + 6) : 0;
        free(out);
        if (harness_now() > end)
            host_fail(&h, "waiting for the child");
    }
    (void)snprintf(own, sizeof own, "%s/own.forks.%d", h.dir, (int)child);
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; !file_exists(own); harness_look_again())
        if (harness_now() > end)
            host_fail(&h, "waiting for the child's FIFO");
    int to_child = open(own, O_WRONLY | O_CLOEXEC);
    put(to_child, "to the child\n", 13);
    (void)snprintf(text, sizeof text, "\"pid\":%d,", (int)child);
    host_wait_log(&h, text, 1);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(text, sizeof text, "to the parent %d", i);
        say(&h, fd, text);
    }
    (void)snprintf(text, sizeof text, "\"pid\":%d,", (int)child);
    ck_assert_uint_eq(host_count_log(&h, text), 1);
    ck_assert_uint_eq(host_notices(&h), 0);
    (void)host_end(&h);
    ck_assert(!file_exists(own) && !file_exists(path));
    host_clean(&h);
}
END_TEST

Suite *suite_fifo(void)
{
    Suite *s = suite_create("fifo");
    TCase *t = tcase_create("fifo");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_test(t, test_line_is_an_event_and_its_label);
    tcase_add_test(t, test_junk_partial_lines_and_a_megabyte);
    tcase_add_test(t, test_storm_of_lines);
    tcase_add_loop_test(t, test_hosts_that_close_and_give_up_everything, 0, sizeof fifo_hosts / sizeof *fifo_hosts);
    tcase_add_loop_test(t, test_what_stands_in_its_place_is_refused, 0, sizeof planted / sizeof *planted);
    tcase_add_test(t, test_another_user_can_neither_write_nor_read);
    tcase_add_loop_test(t, test_fifo_that_was_there_stays, 0, 2);
    tcase_add_test(t, test_fifo_that_was_replaced_is_left);
    tcase_add_test(t, test_second_process_at_the_same_path_is_told);
    tcase_add_test(t, test_forked_children);
    suite_add_tcase(s, t);
    return s;
}
