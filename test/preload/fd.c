/* fd:N: a pipe, eventfd or socket that the host was started with. What the host does with the number is its own affair. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define NUMBER 10
static const char *const on_fd[] = {"GIVEBACK_ON=fd:10", NULL};
static const char *const idle[] = {"idle", NULL};
enum kind { PIPE, SOCKET, EVENTFD, KINDS };
static int ends[2]; /* the host's, and ours */

static void make(enum kind kind)
{
    if (kind == PIPE)
        ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    if (kind == SOCKET)
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    if (kind == EVENTFD)
        ck_assert_int_ge(ends[0] = ends[1] = eventfd(0, EFD_CLOEXEC), 0);
}

static void give(void)
{
    if (dup2(ends[0], NUMBER) != NUMBER)
        _exit(90);
}

static void start(struct host *h, const char *const *argv)
{
    host_start(h, &(struct host_setup){.argv = argv, .place = FIRST, .env = on_fd, .before_exec = give});
    host_wait_line(h, "ready");
}

/* One event, which a byte count of 8 makes for an eventfd too; with a label where it can have one. */
static void fire(struct host *h, enum kind kind, const char *label)
{
    static const uint64_t one = 1;
    char text[100];
    unsigned n = host_records(h);
    int length = snprintf(text, sizeof text, "%s\n", label);
    const void *bytes = kind == EVENTFD ? (const void *)&one : text;
    size_t size = kind == EVENTFD ? sizeof one : (size_t)length;
    ck_assert_int_eq(write(ends[1], bytes, size), (ssize_t)size);
    (void)snprintf(text, sizeof text, "\"label\":\"%s\"", label);
    kind == EVENTFD ? host_wait_log(h, "\"action\":", n + 1) : host_wait_log(h, text, 1);
}

static void wait_own(struct host *h)
{
    host_wait_worker(h, true);
}

START_TEST(test_bytes_are_an_event)
{
    struct host h;
    char before[4096], after[4096];
    make((enum kind)_i);
    start(&h, idle);
    host_descriptors(&h, before, sizeof before);
    int flags = fcntl(ends[0], F_GETFL);
    fire(&h, (enum kind)_i, "one");
    fire(&h, (enum kind)_i, "two");
    if (_i != EVENTFD) { /* no text, and no end of a line: an event without a label */
        unsigned n = host_count_log(&h, "\"label\":null");
        ck_assert_int_eq(write(ends[1], "\0\xff\x01", 3), 3);
        host_wait_log(&h, "\"label\":null", n + 1);
    }
    host_worker_rests(&h, "between events");
    ck_assert_int_eq(fcntl(ends[0], F_GETFL), flags); /* the flag that all who have it share */
    host_descriptors(&h, after, sizeof after);
    ck_assert_str_eq(before, after);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    host_clean(&h);
}
END_TEST

START_TEST(test_end_of_the_other_side_is_said_once)
{
    struct host h;
    make((enum kind)_i);
    start(&h, idle);
    fire(&h, (enum kind)_i, "one");
    close(ends[0]);
    ck_assert_int_eq(write(ends[1], "last\n", 5), 5);
    close(ends[1]);
    host_wait_log(&h, "\"label\":\"last\"", 1);
    host_wait_log(&h, "fd:10: its other end is closed: no more events from it", 1);
    host_wait_worker(&h, false); /* there is nothing left to look at */
    host_release(&h);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    ck_assert_uint_eq(host_notices(&h), 1);
    host_clean(&h);
}
END_TEST

/* It closes the number at once and has a pipe of its own there: nothing is taken out of that. */
START_TEST(test_number_that_the_host_reuses_is_never_read)
{
    const char *argv[] = {"reuses", "10", NULL};
    struct host bare, h;
    make((enum kind)_i);
    host_start(&bare, &(struct host_setup){.argv = argv, .before_exec = give});
    host_wait_line(&bare, "ready");
    host_say(&bare, "\n");
    (void)host_end(&bare);
    start(&h, argv);
    (void)!write(ends[1], "12345678", 8);
    host_wait_log(&h, "fd:10: was closed by the program before it could be read", 1);
    host_say(&h, "\n");
    (void)host_end(&h);
    host_compare(&bare, &h, "reuses");
    ck_assert_msg(strstr(file_text(h.out), "7 my own\n"), "%s", file_text(h.out));
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

static const char *const close_ways[] = {"loop", "range", "dup2"};

/* Once the worker has its copy, the host may do with its own what it likes. */
START_TEST(test_host_that_closes_and_reuses_every_number)
{
    const char *argv[] = {"closefds", close_ways[_i % 3], NULL};
    enum kind kind = (enum kind)(_i / 3);
    struct host h;
    make(kind);
    start(&h, argv);
    wait_own(&h);
    fire(&h, kind, "before");
    host_say(&h, "\n");
    host_wait_lines(&h, "ready", 2);
    fire(&h, kind, "afterwards");
    host_say(&h, "\n");
    ck_assert_msg(host_end(&h) == 0, "a file of the host's was touched: %s", file_text(h.out));
    ck_assert_int_eq(chdir(h.dir), 0);
    ck_assert_int_eq(system("rm -f file*"), 0);
    host_clean(&h);
}
END_TEST

static void give_nothing(void)
{
    close(NUMBER);
}

static void give_file(void)
{
    int fd = open("data", O_RDWR | O_CREAT, 0600);
    if (fd < 0 || write(fd, "data\n", 5) != 5 || lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, NUMBER) != NUMBER)
        _exit(90);
}

static void give_write_end(void)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0 || dup2(pipes[1], NUMBER) != NUMBER)
        _exit(90);
}

static const struct {
    void (*before_exec)(void);
    const char *said;
} wrong[] = {{give_nothing, "fd:10: was not open when the program started"},
             {give_file, "fd:10: is no pipe, socket or eventfd that can be read"},
             {give_write_end, "fd:10: is no pipe, socket or eventfd that can be read"}};

START_TEST(test_what_is_no_event_descriptor_is_said)
{
    struct host h;
    host_start(&h, &(struct host_setup){.argv = idle, .place = FIRST, .env = on_fd, .before_exec = wrong[_i].before_exec});
    host_wait_log(&h, wrong[_i].said, 1);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    ck_assert_uint_eq(host_notices(&h), 1);
    host_clean(&h);
}
END_TEST

/* The child has the number too, but the events are its parent's. */
START_TEST(test_forked_child_does_not_read)
{
    const char *argv[] = {"forks", "fork", NULL};
    char text[64];
    struct host h;
    make((enum kind)_i);
    start(&h, argv);
    wait_own(&h);
    host_say(&h, "\n");
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; !strstr(file_text(h.out), "child "); harness_look_again())
        if (harness_now() > end)
            host_fail(&h, "waiting for the child");
    for (int i = 0; i < 30; i++) {
        (void)snprintf(text, sizeof text, "event %d", i);
        fire(&h, (enum kind)_i, text);
    }
    (void)snprintf(text, sizeof text, "\"pid\":%d,", (int)h.pid);
    ck_assert_uint_eq(host_count_log(&h, text), host_records(&h));
    ck_assert_uint_eq(host_notices(&h), 0);
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

Suite *suite_fd(void)
{
    Suite *s = suite_create("fd");
    TCase *t = tcase_create("fd");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_bytes_are_an_event, 0, KINDS);
    tcase_add_loop_test(t, test_end_of_the_other_side_is_said_once, 0, EVENTFD);
    tcase_add_loop_test(t, test_number_that_the_host_reuses_is_never_read, 0, KINDS);
    tcase_add_loop_test(t, test_host_that_closes_and_reuses_every_number, 0, 3 * KINDS);
    tcase_add_loop_test(t, test_what_is_no_event_descriptor_is_said, 0, sizeof wrong / sizeof *wrong);
    tcase_add_loop_test(t, test_forked_child_does_not_read, 0, KINDS);
    suite_add_tcase(s, t);
    return s;
}
