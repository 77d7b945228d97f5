/* Promises 6, 7, 9, 10, 11: what a host may not notice in its own data: no allocator call on its threads, errno, no end of
 * the process, no symbol that is not meant, no setting changed. */
#include "harness.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static long calls_so_far(struct host *h, unsigned nth)
{
    long calls = -1;
    unsigned n = 0;
    host_say(h, "?");
    for (;;) { /* until the nth answer is there */
        char *text = file_text(h->out), *at = text;
        for (n = 0; (at = strstr(at, "calls ")) && strchr(at, '\n'); at++)
            if (++n == nth)
                calls = atol(at + 6);
        free(text);
        if (n >= nth)
            return calls;
        ck_assert_msg(host_status(h, "Threads") > 0, "the host has ended");
    }
}

/* libspy stands in front and counts. The first event may cost what pthread_create needs, each later one nothing. */
START_TEST(test_promise_06_no_allocator_call_on_a_host_thread)
{
    const char *argv[] = {"spied", NULL};
    char spy[400];
    struct host bare, h;
    (void)snprintf(spy, sizeof spy, "%s:", harness_victim("libspy.so"));
    host_start(&bare, &(struct host_setup){.argv = argv, .preload = spy});
    host_start(&h, &(struct host_setup){.argv = argv, .preload = spy, .place = _i ? LAST : FIRST});
    host_wait_line(&bare, "ready");
    host_wait_line(&h, "ready");
    long start = calls_so_far(&h, 1);
    ck_assert_int_eq(start, calls_so_far(&bare, 1)); /* none at start either */
    host_release(&h);
    long first = calls_so_far(&h, 2);
    ck_assert_msg(first - start <= 2, "the first event made %ld allocator calls on the host's thread", first - start);
    for (int i = 0; i < 20; i++)
        host_release(&h);
    ck_assert_int_eq(calls_so_far(&h, 3), first);
    (void)host_end(&h);
    host_clean(&h);
    host_clean(&bare);
}
END_TEST

START_TEST(test_promise_07_errno_is_0_at_main_and_stays_as_set)
{
    const char *quiet[] = {"errnos", NULL}, *argv[] = {"errnos", "300", NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    struct host h;
    if (!harness_allocator(a, "test_promise_07_errno_is_0_at_main_and_stays_as_set"))
        return;
    (void)host_same(&(struct host_setup){.argv = quiet, .allocator = a, .place = CELL_PLACE(_i)}, 0, 0);
    host_start(&h, &(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i)});
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_msg(strstr(file_text(h.out), "changed 0\n"), "%s", file_text(h.out));
    host_clean(&h);
}
END_TEST

static const char *const bad_values[][4] = {
    {"GIVEBACK_SIGNAL=FOO", "GIVEBACK_LOG=", "GIVEBACK_FORMAT=xml"},
    {"GIVEBACK_SIGNAL=KILL", "GIVEBACK_DETAIL=maybe", "GIVEBACK_CHILDREN=sell"},
    {"GIVEBACK_SIGNAL=STOP", "GIVEBACK_CALL=/:;,,:::", "GIVEBACK_UNHEARD=1"},
    {"GIVEBACK_SIGNAL=32", "GIVEBACK_CALL=no_such_function,abort*"},
    {"GIVEBACK_SIGNAL=-1", "GIVEBACK=perhaps", "GIVEBACK_SKIP=[z-a"},
    {"GIVEBACK_SIGNAL=RTMIN+40", "GIVEBACK_SKIP=[", "GIVEBACK_LOG=%q%p%%%"},
    {"GIVEBACK_SIGNAL=99999999999999999999", "GIVEBACK_LOG=/proc/nonexistent/%p"},
};

/* Whatever the environment says, the host runs to its own end, and is told what was wrong. */
START_TEST(test_promise_09_host_runs_on_with_any_bad_value)
{
    const char *argv[] = {"hold", NULL}, *env[8] = {NULL};
    struct host h;
    for (int i = 0; i < 4; i++)
        env[i] = bad_values[_i][i];
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .log = "stderr"});
    ck_assert_int_eq(host_end(&h), 0);
    char *err = file_text(h.err);
    if (_i < 6) /* the last one has a good name of a bad place */
        ck_assert_msg(strstr(err, "GIVEBACK_SIGNAL") && strstr(err, "expected"), "no line names the bad value: %s", err);
    ck_assert_str_eq(file_text(h.out), "ready\n");
    host_clean(&h);
}
END_TEST

static const char *const exported[] = {"signal", "bsd_signal", "ssignal", "sysv_signal", "__sysv_signal", "sigaction", "__sigaction",
                                       "sigset", "sigignore", "siginterrupt", "unshare", "setns", "prctl", "giveback_release",
                                       "giveback_mark", "giveback_anon", "giveback_last", "giveback_signal"};

static const Elf64_Shdr *section_of(const char *file, unsigned type)
{
    const Elf64_Ehdr *e = (const void *)file;
    const Elf64_Shdr *s = (const void *)(file + e->e_shoff);
    for (unsigned i = 0; i < e->e_shnum; i++)
        if (s[i].sh_type == type)
            return &s[i];
    ck_abort_msg("%s has no section of type %u", harness_library(), type);
}

/* The list is read back from the built file, and each stands in for libc's without a version of its own. */
START_TEST(test_promise_10_only_what_is_meant_is_exported)
{
    struct stat st;
    int fd = open(harness_library(), O_RDONLY | O_CLOEXEC);
    ck_assert_msg(fd >= 0 && fstat(fd, &st) == 0, "cannot open %s", harness_library());
    const char *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    ck_assert(file != MAP_FAILED && memcmp(file, ELFMAG, SELFMAG) == 0);
    const Elf64_Shdr *dynamic = section_of(file, SHT_DYNSYM), *versions = section_of(file, SHT_GNU_versym);
    const char *strings = file + ((const Elf64_Shdr *)(const void *)(file + ((const Elf64_Ehdr *)(const void *)file)->e_shoff))[dynamic->sh_link].sh_offset;
    const Elf64_Sym *symbol = (const void *)(file + dynamic->sh_offset);
    const uint16_t *version = (const void *)(file + versions->sh_offset);
    size_t found = 0, all = sizeof exported / sizeof *exported;
    for (size_t i = 1; i < dynamic->sh_size / sizeof *symbol; i++) {
        const char *name = strings + symbol[i].st_name;
        size_t k = 0;
        if (symbol[i].st_shndx == SHN_UNDEF)
            continue;
        while (k < all && strcmp(exported[k], name) != 0)
            k++;
        ck_assert_msg(k < all, "%s is exported", name);
        ck_assert_msg((version[i] & 0x7fff) <= 1, "%s has a version of its own", name);
        found += k < all;
    }
    ck_assert_uint_eq(found, all);
}
END_TEST

#define GLIBCS_OWN (3ull << 31) /* signals 32 and 33: glibc installs their handlers itself when the first thread is made */

/* Locked memory stays locked, the allocator's thresholds stay, and no other setting of the process changes. */
START_TEST(test_promise_11_nothing_is_changed_that_was_not_asked_for)
{
    static const char *const keys[] = {"VmLck", "NoNewPrivs", "Seccomp", "THP_enabled", "CoreDumping", "SigBlk", "SigIgn", "SigCgt", "VmPin"};
    const char *argv[] = {"settings", NULL};
    uint64_t before[16], at_start[16];
    struct host bare, h;
    ck_assert_int_eq(host_same(&(struct host_setup){.argv = argv, .place = FIRST}, 2, 2), 0);
    host_start(&bare, &(struct host_setup){.argv = argv});
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST});
    host_wait_line(&bare, "ready");
    host_wait_line(&h, "ready");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        at_start[i] = host_mask(&bare, keys[i]) & ~GLIBCS_OWN; /* make ignores these two in what it starts */
        before[i] = host_mask(&h, keys[i]) & ~GLIBCS_OWN;
        if (strcmp(keys[i], "SigCgt") != 0) /* the one thing that is ours */
            ck_assert_msg(before[i] == at_start[i], "%s differs from the start on", keys[i]);
    }
    host_release(&h);
    host_release(&h);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_assert_msg((host_mask(&h, keys[i]) & ~GLIBCS_OWN) == before[i], "%s: %llx -> %llx", keys[i], (unsigned long long)before[i],
                      (unsigned long long)host_mask(&h, keys[i]));
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

Suite *suite_promise_quiet(void)
{
    Suite *s = suite_create("promise_quiet");
    TCase *t = tcase_create("quiet");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_promise_06_no_allocator_call_on_a_host_thread, 0, 2);
    tcase_add_loop_test(t, test_promise_07_errno_is_0_at_main_and_stays_as_set, 0, CELLS);
    tcase_add_loop_test(t, test_promise_09_host_runs_on_with_any_bad_value, 0, (int)(sizeof bad_values / sizeof *bad_values));
    tcase_add_test(t, test_promise_10_only_what_is_meant_is_exported);
    tcase_add_test(t, test_promise_11_nothing_is_changed_that_was_not_asked_for);
    suite_add_tcase(s, t);
    return s;
}
