/* Promises 1 and 12: nothing for another user. Under AT_SECURE the library is off even where ld.so lets it in; a log is never
 * written through a symlink and is readable by its owner only. */
#include "harness.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRUSTED_NAME "libmemusage.so" /* comes with libc, stands in a trusted folder, and no victim needs it */

static char secure_copy[400], library_copy[400];

static void copy_file(const char *from, const char *to, mode_t mode)
{
    char buffer[65536];
    ssize_t n;
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_msg(in >= 0 && out >= 0, "cannot copy %s to %s", from, to);
    while ((n = read(in, buffer, sizeof buffer)) > 0)
        ck_assert_int_eq(write(out, buffer, (size_t)n), n);
    ck_assert_int_eq(fchmod(out, mode), 0);
    close(in);
    close(out);
}

static void become_nobody(void)
{
    if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
        _exit(98);
}

/* Our library, set-user-ID, in the place of a library of the system's, for this process only. */
static void trust_the_library(void)
{
    static const char *const folders[] = {"/lib/x86_64-linux-gnu/" TRUSTED_NAME, "/lib/aarch64-linux-gnu/" TRUSTED_NAME};
    int bound = 0;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        _exit(97);
    for (int i = 0; i < 2; i++)
        bound |= mount(library_copy, folders[i], NULL, MS_BIND, NULL) == 0;
    if (!bound)
        _exit(96);
    become_nobody();
}

/* A host under AT_SECURE: `expected` on its first line, then nothing of ours, and SIGUSR1 is its death. */
static void look_at_secure(const struct host_setup *s, const char *expected)
{
    struct host h;
    host_start(&h, s);
    host_wait_line(&h, "ready");
    ck_assert_msg(strstr(file_text(h.out), expected), "not \"%s\" but: %s\n%s", expected, file_text(h.out), file_text(h.err));
    ck_assert_uint_eq(host_threads(&h), 1);
    ck_assert_uint_eq(host_mask(&h, "SigCgt"), 0);
    host_kill(&h, SIGUSR1);
    ck_assert_int_eq(host_end(&h), SIGUSR1);
    ck_assert_msg(!file_exists(h.log), "a log was made under AT_SECURE");
    host_clean(&h);
}

START_TEST(test_promise_01_off_under_at_secure)
{
    char preload[64] = "LD_PRELOAD=" TRUSTED_NAME;
    const char *name = _i ? TRUSTED_NAME : "libgiveback.so";
    const char *argv[] = {secure_copy, name, NULL}, *env[] = {preload, NULL};
    if (geteuid() != 0) {
        harness_skip("test_promise_01_off_under_at_secure", "not root: no set-user-ID copy of another user can be made");
        return;
    }
    (void)snprintf(secure_copy, sizeof secure_copy, "%s/scratch/secure.%d", harness_build(), (int)getpid());
    (void)snprintf(library_copy, sizeof library_copy, "%s/scratch/trusted.%d", harness_build(), (int)getpid());
    copy_file(harness_victim("secure"), secure_copy, 04755);
    copy_file(harness_library(), library_copy, 04755);
    if (_i) /* let in by ld.so: our own look at AT_SECURE is what counts */
        look_at_secure(&(struct host_setup){.argv = argv, .env = env, .before_exec = trust_the_library}, "secure 1 mapped 1\n");
    else /* kept out by ld.so, which ignores a path there */
        look_at_secure(&(struct host_setup){.argv = argv, .place = FIRST, .before_exec = become_nobody}, "secure 1 mapped 0\n");
    ck_assert_int_eq(unlink(secure_copy), 0);
    ck_assert_int_eq(unlink(library_copy), 0);
}
END_TEST

/* The same way in, without AT_SECURE, to see that the test above would have noticed a library that is on. */
START_TEST(test_promise_01_same_way_in_without_at_secure_is_on)
{
    const char *argv[] = {"secure", TRUSTED_NAME, NULL}, *env[] = {"LD_PRELOAD=" TRUSTED_NAME, NULL};
    struct host h;
    if (geteuid() != 0) {
        harness_skip("test_promise_01_same_way_in_without_at_secure_is_on", "not root: no private mounts");
        return;
    }
    (void)snprintf(library_copy, sizeof library_copy, "%s/scratch/trusted.%d", harness_build(), (int)getpid());
    copy_file(harness_library(), library_copy, 04755);
    host_start(&h, &(struct host_setup){.argv = argv, .env = env, .before_exec = trust_the_library, .log = "none"});
    host_wait_line(&h, "ready");
    ck_assert_msg(strstr(file_text(h.out), "secure 0 mapped 1\n"), "%s", file_text(h.out));
    ck_assert_uint_ne(host_mask(&h, "SigCgt"), 0);
    host_clean(&h);
    ck_assert_int_eq(unlink(library_copy), 0);
}
END_TEST

START_TEST(test_promise_12_log_is_never_written_through_a_symlink)
{
    const char *argv[] = {"hold", NULL};
    char precious[400], planted[400];
    struct host h;
    (void)snprintf(precious, sizeof precious, "%s/scratch/precious.%d", harness_build(), (int)getpid());
    (void)snprintf(planted, sizeof planted, "%s/scratch/planted.%d", harness_build(), (int)getpid());
    int fd = open(precious, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert(fd >= 0 && write(fd, "precious", 8) == 8 && close(fd) == 0 && symlink(precious, planted) == 0);
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .log = planted});
    host_wait_line(&h, "ready");
    int64_t before = host_anon(&h);
    host_kill(&h, SIGUSR1);
    while (host_anon(&h) > before / 2) /* released all the same; the test's own timeout is the deadline */
        ;
    host_wait_worker(&h, false); /* by then it has tried to write its record */
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_str_eq(file_text(precious), "precious");
    ck_assert(unlink(precious) == 0 && unlink(planted) == 0);
    host_clean(&h);
}
END_TEST

static void open_umask(void)
{
    (void)umask(0);
}

START_TEST(test_promise_12_log_is_the_owners_alone)
{
    const char *argv[] = {"idle", NULL};
    struct stat st;
    struct host h;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .before_exec = open_umask});
    host_wait_line(&h, "ready");
    host_release(&h);
    ck_assert_int_eq(stat(h.log, &st), 0);
    ck_assert_msg((st.st_mode & 07777) == 0600, "mode %o", st.st_mode & 07777);
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

Suite *suite_promise_other(void)
{
    Suite *s = suite_create("promise_other");
    TCase *t = tcase_create("other");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_promise_01_off_under_at_secure, 0, 2);
    tcase_add_test(t, test_promise_01_same_way_in_without_at_secure_is_on);
    tcase_add_test(t, test_promise_12_log_is_never_written_through_a_symlink);
    tcase_add_test(t, test_promise_12_log_is_the_owners_alone);
    suite_add_tcase(s, t);
    return s;
}
