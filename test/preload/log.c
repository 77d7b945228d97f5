/* log: events: every way of printing to stdout or stderr fires them, whatever these are; the output, its results and errno are what
 * they are without; what stands elsewhere, or in no line, does not fire; without such an event libc's code is untouched. */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ON "GIVEBACK_ON=ready=log:the load has finished->mark; said=log:all said->mark"
#define READY "\"label\":\"ready\""
#define SAID "\"label\":\"said\""

enum channel { FILES, PIPE, PTY, SOCKET, CHANNELS };

/* What stdout and stderr of a host are, but for files: ours is the other end. */
static int ours, theirs;

static void channel_open(enum channel c)
{
    int ends[2] = {-1, -1};
    if (c == PIPE)
        ck_assert(pipe2(ends, O_CLOEXEC) == 0);
    if (c == SOCKET)
        ck_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    if (c == PTY) {
        ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        ck_assert(ends[0] >= 0 && grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0);
        ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    ours = ends[0];
    theirs = ends[1];
}

static void before_exec(void)
{
    if (theirs >= 0 && (dup2(theirs, 1) < 0 || dup2(theirs, 2) < 0))
        _exit(126);
    (void)dup2(1, 9); /* a copy that was inherited */
}

static void stdout_before_exec(void)
{
    if (dup2(theirs, 1) < 0)
        _exit(126);
}

/* All that came by the channel, once its other end is closed; "" for files. */
static void channel_read(char *text, size_t size)
{
    size_t n = 0;
    ssize_t r;
    close(theirs);
    while (ours >= 0 && n < size - 1 && (r = read(ours, text + n, size - 1 - n)) > 0)
        n += (size_t)r;
    text[n] = 0;
    close(ours);
}

/* One run; with the library until the event of the last line has come. */
static void run(struct host *h, const char *const *argv, enum channel c, enum place place, unsigned least, char *text, size_t size)
{
    static const char *const env[] = {ON, NULL};
    channel_open(c);
    host_start(h, &(struct host_setup){.argv = argv, .place = place, .env = env, .before_exec = before_exec});
    if (place != WITHOUT) {
        host_wait_log(h, SAID, 1);
        host_wait_log(h, READY, least);
    }
    (void)host_end(h);
    channel_read(text, size);
}

/* Equal with and without, and it fired that often. */
static void same(const char *const *argv, enum channel c, unsigned times)
{
    static char bare_text[400000], text[400000];
    struct host bare, h;
    run(&bare, argv, c, WITHOUT, 0, bare_text, sizeof bare_text);
    run(&h, argv, c, FIRST, times, text, sizeof text);
    host_compare(&bare, &h, argv[1]);
    ck_assert_msg(strcmp(bare_text, text) == 0, "%s: without:\n%s\nwith:\n%s", argv[1], bare_text, text);
    ck_assert_msg(host_count_log(&h, READY) == times && host_notices(&h) == 0, "%s fired %u times, expected %u: %s", argv[1],
                  host_count_log(&h, READY), times, file_text(h.log));
    host_clean(&bare);
    host_clean(&h);
}

static const char *const printing[] = {"printf", "puts", "putc", "unbuffered", "bytes", "fwrite", "two", "stderr", "perror", "wide",
                                       "warn", "syslog", "dprintf", "cancelless", "write", "writev", "pwritev2", "dup", "dup2", "dup3", "fcntl",
                                       "fdopen", "inherited", "handler", "reopened", "openat"};
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

START_TEST(test_every_way_of_printing_fires)
{
    const char *argv[] = {"printer", printing[_i % COUNT(printing)], NULL};
    enum channel c = (enum channel)(_i / COUNT(printing));
    if (c == SOCKET && (strcmp(argv[1], "cancelless") == 0 || strcmp(argv[1], "reopened") == 0 || strcmp(argv[1], "openat") == 0))
        return; /* a socket does not open */
    same(argv, c, 1);
}
END_TEST

START_TEST(test_every_way_of_sending_fires)
{
    static const char *const sending[] = {"send", "sendto", "sendmsg"};
    same((const char *const[]){"printer", sending[_i], NULL}, SOCKET, 1);
}
END_TEST

START_TEST(test_a_line_longer_than_a_pipe_takes)
{
    same((const char *const[]){"printer", "long", NULL}, FILES, 1);
}
END_TEST

START_TEST(test_cpp_streams_fire)
{
    static const char *const streams[] = {"cout", "unsynced", "cerr", "clog"};
    same((const char *const[]){"printcout", streams[_i % 4], NULL}, (enum channel)(_i / 4), 1);
}
END_TEST

START_TEST(test_python_fires)
{
    static const char *const says[] = {"print('the load', 'has finished', flush=True)", "print('the load has finished')\nsys.stdout.flush()",
                                       "logging.warning('the load has %s', 'finished')", "os.write(1, b'the load has finished')",
                                       "os.write(os.dup(2), b'the load has finished')", "os.writev(1, [b'the load ', b'has finished'])",
                                       "subprocess.run(['echo', 'the load has gone'])\nprint('the load has finished', file=sys.stderr)"};
    char code[400];
    (void)snprintf(code, sizeof code, "import logging, os, subprocess, sys\n%s\nos.write(2, b'\\nall said\\n')\nsys.stdin.read()", says[_i]);
    same((const char *const[]){"/usr/bin/python3", "-c", code, NULL}, PIPE, 1);
}
END_TEST

START_TEST(test_children_fire_for_themselves)
{
    same((const char *const[]){"printer", "fork", NULL}, FILES, 2);
}
END_TEST

START_TEST(test_what_is_no_line_of_the_two_does_not_fire)
{
    static const char *const other[] = {"streams", "lines", "file", "reused", "moved", "vfork"};
    same((const char *const[]){"printer", other[_i], NULL}, FILES, 0);
}
END_TEST

/* What the kernel refuses, cuts short, or cuts off. */
START_TEST(test_results_of_writes_are_the_same)
{
    static const char *const hard[] = {"full", "cancel", "epipe", "sigpipe"}, *const shows[] = {"-1 11\n", "1\n", "-1 32\n"};
    const char *argv[] = {"printer", hard[_i], NULL};
    const char *const env[] = {ON, NULL};
    struct host both[2];
    for (int i = 0; i < 2; i++) {
        channel_open(PIPE);
        if (_i >= 2)
            close(ours);
        host_start(&both[i], &(struct host_setup){.argv = argv, .place = i ? FIRST : WITHOUT, .env = env, .input = "", .before_exec = stdout_before_exec});
        (void)host_end(&both[i]);
        close(theirs);
        if (_i < 2)
            close(ours);
    }
    host_compare(&both[0], &both[1], argv[1]);
    ck_assert_msg(_i < 3 ? both[1].status == 7 << 8 && strstr(file_text(both[1].err), shows[_i]) : both[1].status == SIGPIPE,
                  "%s: status %#x, %s", argv[1], both[1].status, file_text(both[1].err));
    host_clean(&both[0]);
    host_clean(&both[1]);
}
END_TEST

START_TEST(test_errno_and_descriptors_with_log_and_mapping)
{
    static const char *const argv[] = {"errnos", NULL}, *const env[] = {ON "; mmap:1G; munmap:1G", NULL};
    ck_assert_int_eq(host_same(&(struct host_setup){.argv = argv, .place = FIRST, .env = env, .input = ""}, 0, 0), 0);
}
END_TEST

/* A thread may be running what was to be replaced, so nothing is, and that is said; the rest works. */
START_TEST(test_a_thread_that_was_there_before_us)
{
    char preload[700];
    const char *const env[] = {ON "; mmap:1M", preload, NULL};
    struct host h;
    (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s:%s", harness_library(), harness_victim("libthreaded.so"));
    host_start(&h, &(struct host_setup){.argv = (const char *const[]){"textsum", "", NULL}, .place = FIRST, .env = env});
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_msg(host_notices(&h) == 2 && host_count_log(&h, "another library has started a thread already") == 2, "%s", file_text(h.log));
    host_clean(&h);
}
END_TEST

/* Where the host has shut itself in a write is a write: no system call of ours beside it kills the host. */
START_TEST(test_a_restricted_host_lives_on)
{
    const char *argv[] = {"restricted", _i ? "landlock" : "seccomp", NULL};
    static const char *const env[] = {"GIVEBACK_ON=alive=log:alive; said=log:nothing of it; mmap:1K; munmap:1K", NULL};
    struct host bare, h;
    host_start(&bare, &(struct host_setup){.argv = argv, .input = "xxx"});
    (void)host_end(&bare);
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .input = "xxx"});
    (void)host_end(&h);
    host_compare(&bare, &h, argv[1]);
    ck_assert_msg(host_records(&h) == 0 || strstr(file_text(bare.out), "no\n"), "%s", file_text(h.log));
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

/* A hook of the user's own may lie on the same function. */
START_TEST(test_together_with_a_hook_on_write)
{
    static const char *const env[] = {ON "; wrote=enter:libc.so*:write->mark", NULL};
    struct host h;
    host_start(&h, &(struct host_setup){.argv = (const char *const[]){"printer", "write", NULL}, .place = FIRST, .env = env});
    host_wait_log(&h, READY, 1);
    host_wait_log(&h, SAID, 1);
    host_wait_log(&h, "\"label\":\"wrote\"", 2);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    host_clean(&h);
}
END_TEST

/* Both directions: the sum would be another one if anything were replaced. */
START_TEST(test_libc_is_untouched_without_such_an_event)
{
    static const char *const argv[] = {"textsum", NULL}, *const ons[] = {"GIVEBACK_ON=", "GIVEBACK_ON=exit:py:os:getcwd", ON, "GIVEBACK_ON=munmap:1G"};
    struct host bare, h;
    host_start(&bare, &(struct host_setup){.argv = argv, .place = WITHOUT});
    ck_assert_int_eq(host_end(&bare), 0);
    for (int i = 0; i < 4; i++) {
        const char *const env[] = {ons[i], NULL};
        host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env});
        ck_assert_int_eq(host_end(&h), 0);
        char *a = file_text(bare.out), *b = file_text(h.out);
        ck_assert_msg((strcmp(a, b) == 0) == (i < 2), "%s: %s and %s", ons[i], a, b);
        free(a), free(b);
        host_clean(&h);
    }
    host_clean(&bare);
}
END_TEST

Suite *suite_log(void)
{
    Suite *s = suite_create("log");
    TCase *t = tcase_create("log");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_every_way_of_printing_fires, 0, CHANNELS * COUNT(printing));
    tcase_add_loop_test(t, test_every_way_of_sending_fires, 0, 3);
    tcase_add_test(t, test_a_line_longer_than_a_pipe_takes);
    tcase_add_loop_test(t, test_cpp_streams_fire, 0, 4 * CHANNELS);
    tcase_add_loop_test(t, test_python_fires, 0, 7);
    tcase_add_test(t, test_children_fire_for_themselves);
    tcase_add_loop_test(t, test_what_is_no_line_of_the_two_does_not_fire, 0, 6);
    tcase_add_loop_test(t, test_results_of_writes_are_the_same, 0, 4);
    tcase_add_test(t, test_errno_and_descriptors_with_log_and_mapping);
    tcase_add_test(t, test_a_thread_that_was_there_before_us);
    tcase_add_loop_test(t, test_a_restricted_host_lives_on, 0, 2);
    tcase_add_test(t, test_together_with_a_hook_on_write);
    tcase_add_test(t, test_libc_is_untouched_without_such_an_event);
    suite_add_tcase(s, t);
    return s;
}
#else
Suite *suite_log(void)
{
    return suite_create("log"); /* x86-64 only */
}
#endif
