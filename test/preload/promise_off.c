/* Promise 1: off means off. No thread, no handler, no descriptor, no file; SIGUSR1 keeps its default action. */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const off_table[][3] = {
    {"GIVEBACK=0"},
    {"GIVEBACK=off"},
    {"GIVEBACK=no"},
    {"GIVEBACK=false"},
    {"GIVEBACK=0", "GIVEBACK_SIGNAL=USR2"},
    {"GIVEBACK_SKIP=other,idle"},
    {"GIVEBACK_SKIP=id*"},
    {"GIVEBACK_ONLY=nginx,python*"},
};
#define OFF_WAYS ((int)(sizeof off_table / sizeof *off_table))

/* What stands in front of main with the library off, and how it dies. */
static void look_at_off(enum allocator a, enum place p, const char *const *env)
{
    struct host bare, off;
    char with[4096], without[4096];
    const char *argv[] = {"idle", NULL};
    struct host_setup s = {.argv = argv, .allocator = a, .place = WITHOUT, .env = env};
    host_start(&bare, &s);
    s.place = p;
    host_start(&off, &s);
    host_wait_line(&bare, "ready");
    host_wait_line(&off, "ready");
    ck_assert_uint_eq(host_mask(&bare, "SigCgt"), host_mask(&off, "SigCgt"));
    ck_assert_uint_eq(host_mask(&bare, "SigBlk"), host_mask(&off, "SigBlk"));
    ck_assert_uint_eq(host_threads(&bare), host_threads(&off));
    host_descriptors(&bare, without, sizeof without);
    host_descriptors(&off, with, sizeof with);
    for (char *b = without, *o = with; *b || *o; b++, o++) { /* the numbers; the targets are each host's own files */
        ck_assert_int_eq(atoi(b), atoi(o));
        b += strcspn(b, "\n"), o += strcspn(o, "\n");
    }
    host_kill(&bare, SIGUSR1);
    host_kill(&off, SIGUSR1);
    ck_assert_int_eq(host_end(&bare), SIGUSR1);
    ck_assert_int_eq(host_end(&off), SIGUSR1);
    ck_assert_msg(!file_exists(off.log), "a log was made although the library is off: %s", off.log);
    ck_assert_str_eq(file_text(off.err), "");
    host_clean(&bare);
    host_clean(&off);
}

START_TEST(test_promise_01_off_means_off)
{
    enum allocator a = CELL_ALLOCATOR(_i);
    if (harness_allocator(a, "test_promise_01_off_means_off"))
        look_at_off(a, CELL_PLACE(_i), off_table[0]);
}
END_TEST

START_TEST(test_promise_01_every_way_to_say_off)
{
    look_at_off(GLIBC, FIRST, off_table[_i]);
}
END_TEST

/* The names of the system calls that the host has made since ld.so was done with mapping, a line each. */
static char *calls_after_start(const char *preload, const char *off)
{
    static char assign[400], trace[400];
    const char *argv[] = {"/usr/bin/strace", "-f", "-o", "trace", "-E", assign, harness_victim("idle"), NULL}, *env[] = {off, NULL};
    struct host h;
    (void)snprintf(assign, sizeof assign, "LD_PRELOAD=%s", preload);
    host_start(&h, &(struct host_setup){.argv = argv, .env = env, .input = "x"});
    ck_assert_msg(host_end(&h) == 7 << 8, "strace: status %#x, %s", h.status, file_text(h.err));
    (void)snprintf(trace, sizeof trace, "%s/trace", h.dir);
    char *text = file_text(trace), *at = strstr(text, "munmap("), *names = calloc(1, strlen(text) + 1);
    ck_assert_msg(at, "no munmap of ld.so.cache in %s", text);
    for (char *line = strtok(at, "\n"); line; line = strtok(NULL, "\n")) {
        const char *name = line + strspn(line, "0123456789 ");
        strncat(names, name, strcspn(name, "( "));
        strcat(names, "\n");
    }
    free(text);
    host_clean(&h);
    return names;
}

/* Not one system call more than with a library that is empty; a miss of ONLY or SKIP may look at the program's name. */
START_TEST(test_promise_01_off_makes_no_system_call)
{
    static char empty[400];
    if (access("/usr/bin/strace", X_OK) != 0) {
        harness_skip("test_promise_01_off_makes_no_system_call", "strace is not installed");
        return;
    }
    (void)snprintf(empty, sizeof empty, "%s", harness_victim("libempty.so"));
    char *bare = calls_after_start(empty, "GIVEBACK=0"), *off = calls_after_start(harness_library(), "GIVEBACK=0");
    char *miss = calls_after_start(harness_library(), "GIVEBACK_ONLY=other"), *on = calls_after_start(harness_library(), "GIVEBACK=1");
    ck_assert_str_eq(off, bare);
    ck_assert_msg(strcmp(on, bare) != 0, "nothing is to be seen of the library when it is on either");
    char *look = strstr(miss, "readlinkat\n");
    if (look)
        memmove(look, look + strlen("readlinkat\n"), strlen(look + strlen("readlinkat\n")) + 1);
    ck_assert_str_eq(miss, bare);
}
END_TEST

Suite *suite_promise_off(void)
{
    Suite *s = suite_create("promise_off");
    TCase *t = tcase_create("off");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_promise_01_off_means_off, 0, CELLS);
    tcase_add_loop_test(t, test_promise_01_every_way_to_say_off, 0, OFF_WAYS);
    tcase_add_test(t, test_promise_01_off_makes_no_system_call);
    suite_add_tcase(s, t);
    return s;
}
