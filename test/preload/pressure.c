/* pressure: systemd's protocol, with the very files and sockets that a service manager makes. */
#include "pressure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define TRIGGER "c29tZSAyMDAwMDAgMjAwMDAwMAA=" /* some 200000 2000000, with its NUL */

char pressure_place[400];
const char *pressure_log;

const char *pressure_make_place(const char *name)
{
    (void)snprintf(pressure_place, sizeof pressure_place, "%s/scratch/%s.%d", harness_build(), name, (int)getpid());
    (void)unlink(pressure_place);
    return pressure_place;
}

void pressure_start(struct host *h, const char *const *argv, const char *on, const char *watch, const char *write, void (*before)(void))
{
    char event[100], watched[500], written[6100];
    const char *env[4] = {event};
    int n = 1;

    (void)snprintf(event, sizeof event, "GIVEBACK_ON=%s", on);
    (void)snprintf(watched, sizeof watched, "MEMORY_PRESSURE_WATCH=%s", watch ? watch : "");
    (void)snprintf(written, sizeof written, "MEMORY_PRESSURE_WRITE=%s", write ? write : "");
    if (watch)
        env[n++] = watched;
    if (write)
        env[n++] = written;
    host_start(h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .log = pressure_log, .before_exec = before});
    if (pressure_log)
        (void)snprintf(h->log, sizeof h->log, "%.319s", strcmp(pressure_log, "stderr") == 0 ? h->err : pressure_log);
    host_wait_line(h, "ready");
}

/* The write end of the FIFO at `pressure_place`, as soon as the worker has opened the other one. */
static int fifo_writer(struct host *h)
{
    int fd;

    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; (fd = open(pressure_place, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0; harness_look_again())
        if (host_gone(h) || harness_now() > end)
            host_fail(h, "waiting for the FIFO to be opened");
    return fd;
}

static void wait_drained(struct host *h, int fd)
{
    int left = 1;

    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; ioctl(fd, FIONREAD, &left) == 0 && left; harness_look_again())
        if (host_gone(h) || harness_now() > end)
            host_fail(h, "waiting for the FIFO to be drained");
}

void pressure_end(struct host *h, int status)
{
    ck_assert_int_eq(host_end(h), status);
    if (strcmp(h->log, h->err) != 0)
        ck_assert_str_eq(file_text(h->err), "");
    host_clean(h);
    (void)unlink(pressure_place);
    if (pressure_log && *pressure_log == '/')
        (void)unlink(pressure_log);
}

void pressure_open_log(void)
{
    static char path[300];

    (void)snprintf(path, sizeof path, "%s/scratch/log.%d", harness_build(), (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ck_assert(fd >= 0 && fchmod(fd, 0666) == 0);
    close(fd);
    pressure_log = path;
}

START_TEST(test_fifo_gives_back)
{
    const char *argv[] = {"hold", NULL};
    char record[4096], event[64];
    struct host h;

    ck_assert_int_eq(mkfifo(pressure_make_place("fifo"), 0600), 0);
    pressure_start(&h, argv, "low=pressure", pressure_place, NULL, NULL);
    int64_t before = host_anon(&h);
    int fd = fifo_writer(&h);
    ck_assert_int_eq(write(fd, "some text that nobody reads", 27), 27);
    host_record(&h, 0, record, sizeof record);
    json_string(record, "event", event, sizeof event);
    ck_assert_str_eq(event, "pressure");
    json_string(record, "label", event, sizeof event);
    ck_assert_str_eq(event, "low");
    ck_assert_int_gt(json_number(record, "returned"), 32 * MIB);
    ck_assert_int_lt(host_anon(&h), before - 32 * MIB);
    wait_drained(&h, fd);
    ck_assert_uint_eq(host_notices(&h), 0);
    close(fd);
    pressure_end(&h, 0);
}
END_TEST

void pressure_become_nobody(void)
{
    if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
        _exit(98);
}

/* Writers come and go; none of that is a report, and only what is written is. One that may only be read ends with its last
 * writer, again and again. */
START_TEST(test_fifo_whose_writers_go)
{
    const char *argv[] = {"idle", NULL};
    struct host h;

    if (_i && geteuid() != 0) {
        harness_skip("test_fifo_whose_writers_go", "not root: no host of another user");
        return;
    }
    ck_assert_int_eq(mkfifo(pressure_make_place("fifo"), 0600), 0);
    ck_assert_int_eq(chmod(pressure_place, _i ? 0644 : 0600), 0);
    if (_i)
        pressure_open_log();
    pressure_start(&h, argv, "pressure->mark", pressure_place, NULL, _i ? pressure_become_nobody : NULL);
    for (unsigned n = 1; n <= 10; n++) {
        close(fifo_writer(&h));
        usleep(20 * n); /* about as long as it takes to see that end */
        int fd = fifo_writer(&h);
        ck_assert_int_eq(write(fd, "x", 1), 1);
        close(fd);
        host_wait_log(&h, "\"action\":\"mark\"", n);
        ck_assert_uint_eq(host_records(&h), n);
    }
    ck_assert_uint_eq(host_notices(&h), 0);
    pressure_end(&h, 7 << 8);
}
END_TEST

static int listening(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), folder;
    char *slash = strrchr(pressure_place, '/');

    /* Through the folder, since the path may be longer than an address. */
    *slash = '\0';
    folder = open(pressure_place, O_PATH | O_CLOEXEC);
    *slash = '/';
    (void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%.90s", folder, slash + 1);
    ck_assert_msg(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 5) == 0, "%s: %s", pressure_place, strerror(errno));
    close(folder);
    return fd;
}

static int accepted(struct host *h, int fd)
{
    if (poll(&(struct pollfd){fd, POLLIN, 0}, 1, HARNESS_DEADLINE * 1000) != 1)
        host_fail(h, "waiting for a connection");
    return accept(fd, NULL, NULL);
}

START_TEST(test_socket_is_told_and_tells)
{
    const char *argv[] = {"idle", NULL};
    char buffer[16] = "", name[200] = "socket", folder[400];
    struct host h;

    if (_i) { /* whatever folder stands before it, more than the 107 bytes of an address */
        (void)snprintf(name, sizeof name, "%.60d.%d/%.60d", 0, (int)getpid(), 0);
        (void)snprintf(folder, sizeof folder, "%s/scratch/%.*s", harness_build(), (int)strcspn(name, "/"), name);
        ck_assert_int_eq(mkdir(folder, 0755), 0);
    }
    pressure_make_place(name);
    if (_i)
        ck_assert_uint_gt(strlen(pressure_place), 107);
    int listener = listening();
    pressure_start(&h, argv, "pressure->mark", pressure_place, "aGVsbG8=", NULL);
    unsigned rounds = _i ? 3 : 2;
    for (unsigned n = 1; n <= rounds; n++) { /* a manager that starts anew finds it again */
        memset(buffer, 0, sizeof buffer);
        int fd = accepted(&h, listener);
        ck_assert_int_eq(recv(fd, buffer, 5, MSG_WAITALL), 5);
        ck_assert_str_eq(buffer, "hello");
        ck_assert_int_eq(write(fd, "z", 1), 1);
        host_wait_log(&h, "\"action\":\"mark\"", n);
        ck_assert_uint_eq(host_records(&h), n);
        close(fd);
    }
    if (_i) {
        close(accepted(&h, listener));
        host_wait_log(&h, "is closed again and again", 1);
        close(listener);
    } else {
        int fd = accepted(&h, listener);
        close(listener);
        close(fd);
        host_wait_log(&h, "nothing to watch", 1); /* ECONNREFUSED, or EPIPE where it was in the queue just before */
    }
    host_release(&h); /* the rest works on */
    ck_assert_uint_eq(host_records(&h), rounds + 1);
    ck_assert_uint_eq(host_notices(&h), 1);
    pressure_end(&h, 7 << 8);
    if (_i)
        ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(test_dev_null_switches_it_off)
{
    const char *argv[] = {"idle", NULL};
    struct host h;

    pressure_make_place("none");
    pressure_start(&h, argv, "pressure", "/dev/null", TRIGGER, NULL);
    host_wait_syscall(&h, SYS_read);
    host_release(&h); /* later than a worker that is there from the start would have come */
    host_wait_worker(&h, true);
    host_wait_worker(&h, false);
    ck_assert_uint_eq(host_notices(&h), 0);
    pressure_end(&h, 7 << 8);
}
END_TEST

static const struct {
    const char *watch, *write, *said;
} unusable[] = {
    {"/nonexistent/file", NULL, "pressure: nothing to watch: /nonexistent/file (ENOENT)"},
    {"relative/path", NULL, "pressure: MEMORY_PRESSURE_WATCH is no absolute path"},
    {"/tmp", NULL, "pressure: nothing to watch: /tmp (ENODEV)"},
    {"/proc/pressure/memory", "c29tZSA=", "pressure: nothing to watch: /proc/pressure/memory (EINVAL)"},
    {"/proc/pressure/memory", "not base64!", "pressure: MEMORY_PRESSURE_WRITE is no Base64"},
    {"/proc/pressure/memory", NULL, "pressure: its file reports nothing (no trigger was written), so it is not watched any more"},
    {"/a\\\"b\\n", NULL, "pressure: nothing to watch: /a\\\\\\\"b\\\\n (ENOENT)"},
};

START_TEST(test_what_cannot_be_watched_is_said_once)
{
    const char *argv[] = {"idle", NULL};
    struct host h;

    pressure_make_place("none");
    if (strncmp(unusable[_i].watch, "/proc/", 6) == 0 && !file_exists("/proc/pressure/memory")) {
        harness_skip("test_what_cannot_be_watched_is_said_once", "this kernel has no /proc/pressure");
        return;
    }
    pressure_start(&h, argv, "pressure;also=pressure->mark", unusable[_i].watch, unusable[_i].write, NULL);
    host_wait_log(&h, unusable[_i].said, 1);
    host_release(&h);
    ck_assert_uint_eq(host_notices(&h), 1);
    pressure_end(&h, 7 << 8);
}
END_TEST

static long switches(const char *status)
{
    char *text = file_text(status), *at = strstr(text, "\nvoluntary_ctxt_switches:");
    ck_assert_msg(at, "%s: %s", status, text);
    long n = strtol(at + 25, NULL, 10);
    free(text);
    return n;
}

/* A regular file that is not the kernel's: always readable, which must be no report, and no reason to be awake. */
START_TEST(test_regular_file_gets_the_data_and_nothing_is_read)
{
    const char *argv[] = {"idle", NULL};
    struct host h;
    int fd = open(pressure_make_place("file"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char status[64];

    pressure_start(&h, argv, "pressure->mark;every:500ms->mark", pressure_place, "aGVsbG8=", NULL);
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; strcmp(file_text(pressure_place), "hello") != 0; harness_look_again())
        if (harness_now() > end)
            host_fail(&h, "waiting for the data");
    (void)snprintf(status, sizeof status, "/proc/%d/task/%d/status", (int)h.pid, (int)host_worker(&h));
    host_wait_log(&h, "\"event\":\"every:500ms\"", 2); /* long enough for all that could be wrong */
    ck_assert_uint_eq(host_count_log(&h, "\"event\":\"pressure\""), 0);
    ck_assert_uint_eq(host_notices(&h), 0);
    ck_assert_int_lt(switches(status), 100);
    close(fd);
    pressure_end(&h, 7 << 8);
}
END_TEST

static const char *const ways[] = {"title", "clearenv", "null", "setenv", "scrub"};

/* The host has done so before the worker opens anything. */
START_TEST(test_environment_that_is_overwritten)
{
    const char *argv[] = {"scribble", ways[_i], NULL};
    struct host h;

    ck_assert_int_eq(mkfifo(pressure_make_place("fifo"), 0600), 0);
    pressure_start(&h, argv, "pressure->mark", pressure_place, NULL, NULL);
    int fd = fifo_writer(&h);
    ck_assert_int_eq(write(fd, "x", 1), 1);
    host_wait_log(&h, "\"action\":\"mark\"", 1);
    close(fd);
    pressure_end(&h, 0);
}
END_TEST

START_TEST(test_host_that_changes_root_and_user)
{
    const char *argv[] = {"depart", NULL};
    struct host h;

    if (geteuid() != 0) {
        harness_skip("test_host_that_changes_root_and_user", "not root");
        return;
    }
    ck_assert_int_eq(mkfifo(pressure_make_place("fifo"), 0600), 0);
    pressure_log = "stderr"; /* no path leads to a file any more */
    pressure_start(&h, argv, "pressure->mark", pressure_place, NULL, NULL);
    int fd = fifo_writer(&h);
    host_say(&h, "\n");
    host_wait_lines(&h, "ready", 2);
    ck_assert_int_eq(write(fd, "x", 1), 1);
    host_wait_log(&h, "\"action\":\"mark\"", 1);
    close(fd);
    pressure_end(&h, 0);
}
END_TEST

/* 10,000 writes a second: the worker wakes ten times a second for them, the last one is not lost, nothing is left lying. */
START_TEST(test_storm_of_reports)
{
    const char *argv[] = {"idle", NULL};
    char status[64];
    struct host h;

    ck_assert_int_eq(mkfifo(pressure_make_place("fifo"), 0600), 0);
    pressure_start(&h, argv, "pressure->mark", pressure_place, NULL, NULL);
    int fd = fifo_writer(&h);
    int64_t begin = harness_now();
    for (int i = 0; i < 30000; i++) {
        (void)!write(fd, "x", 1);
        if (i % 20 == 0)
            harness_look_again();
    }
    int64_t took = harness_now() - begin;
    wait_drained(&h, fd);
    (void)snprintf(status, sizeof status, "/proc/%d/task/%d/status", (int)h.pid, (int)host_worker(&h));
    long woken = switches(status);
    ck_assert_msg(woken < 200 + took / 100 * 4, "woken %ld times in %d ms", woken, (int)took);
    host_release(&h); /* twice: the first may be carried out before the last report */
    host_release(&h);
    unsigned n = host_count_log(&h, "\"action\":\"mark\"");
    ck_assert_uint_le(n, (unsigned)(took / 100 + 20));
    ck_assert_int_eq(write(fd, "x", 1), 1);
    host_wait_log(&h, "\"action\":\"mark\"", n + 1);
    close(fd);
    pressure_end(&h, 7 << 8);
}
END_TEST

Suite *suite_pressure(void)
{
    Suite *s = suite_create("pressure");
    TCase *t = tcase_create("pressure");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_test(t, test_fifo_gives_back);
    tcase_add_loop_test(t, test_fifo_whose_writers_go, 0, 2);
    tcase_add_loop_test(t, test_socket_is_told_and_tells, 0, 2);
    tcase_add_test(t, test_dev_null_switches_it_off);
    tcase_add_loop_test(t, test_what_cannot_be_watched_is_said_once, 0, sizeof unusable / sizeof *unusable);
    tcase_add_test(t, test_regular_file_gets_the_data_and_nothing_is_read);
    tcase_add_loop_test(t, test_environment_that_is_overwritten, 0, sizeof ways / sizeof *ways);
    tcase_add_test(t, test_host_that_changes_root_and_user);
    tcase_add_test(t, test_storm_of_reports);
    suite_add_tcase(s, t);
    return s;
}
