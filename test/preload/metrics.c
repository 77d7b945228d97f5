/* GIVEBACK_METRICS: the file is there from the worker's start, is whole at every moment, and does no harm where it cannot be written.
 * (What stands in it is read by a real parser in scripts/check-metrics.) */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void start(struct host *h, const char *const *argv, const char *path, const char *on, void (*before)(void))
{
    char metrics[600], event[100];
    const char *env[] = {metrics, event, NULL};
    (void)snprintf(metrics, sizeof metrics, "GIVEBACK_METRICS=%s", path);
    (void)snprintf(event, sizeof event, "GIVEBACK_ON=%s", on);
    host_start(h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .before_exec = before});
}

/* A file in the host's folder. */
static const char *in(const struct host *h, const char *name)
{
    static char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", h->dir, name);
    return path;
}

static bool is_whole(const char *text)
{
    size_t n = strlen(text);
    return n > 100 && strncmp(text, "# TYPE ", 7) == 0 && strcmp(text + n - 6, "# EOF\n") == 0;
}

/* Wait until the sample has that value. */
static void wait_sample(struct host *h, const char *path, const char *sample)
{
    char line[400];
    (void)snprintf(line, sizeof line, "\n%s\n", sample);
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000;; harness_look_again()) {
        char *text = file_text(path);
        bool found = strstr(text, line) != NULL;
        if (!found && harness_now() > end)
            ck_abort_msg("no line \"%s\" in %s:\n%s\nlog: %s", sample, path, text, file_text(h->log));
        free(text);
        if (found)
            return;
    }
}

static unsigned count_files(const char *folder, const char *part)
{
    DIR *d = opendir(folder);
    unsigned n = 0;
    ck_assert_msg(d, "%s: %s", folder, strerror(errno));
    for (struct dirent *e; (e = readdir(d));)
        n += strstr(e->d_name, part) != NULL;
    closedir(d);
    return n;
}

static void closed_umask(void)
{
    (void)umask(077);
}

START_TEST(test_from_the_start_and_after_each_action)
{
    const char *argv[] = {"hold", NULL};
    struct host h;
    struct stat st;

    start(&h, argv, "m-%n.prom", "rss:1T", closed_umask);
    wait_sample(&h, in(&h, "m-hold.prom"), "giveback_releases_total{program=\"hold\",kind=\"signal\"} 0");
    host_wait_line(&h, "ready");
    for (int i = 1; i <= 3; i++) {
        char sample[100];
        host_release(&h);
        (void)snprintf(sample, sizeof sample, "giveback_releases_total{program=\"hold\",kind=\"signal\"} %d", i);
        wait_sample(&h, in(&h, "m-hold.prom"), sample);
    }
    ck_assert(stat(in(&h, "m-hold.prom"), &st) == 0 && (st.st_mode & 07777) == 0644);
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_uint_eq(count_files(h.dir, "m-hold.prom"), 1); /* it stays, and nothing beside it */
    ck_assert_str_eq(file_text(h.err), "");
    host_clean(&h);
}
END_TEST

START_TEST(test_off_means_no_file)
{
    const char *argv[] = {"idle", NULL}, *env[] = {"GIVEBACK=0", "GIVEBACK_METRICS=m.prom", "GIVEBACK_ON=every:1ms", NULL};
    struct host h;

    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .input = ""});
    host_end(&h);
    ck_assert_uint_eq(count_files(h.dir, "m.prom"), 0);
    host_clean(&h);
}
END_TEST

/* Replaced hundreds of times while it is read all the time. */
START_TEST(test_reader_never_sees_a_part)
{
    const char *argv[] = {"idle", NULL};
    struct host h;
    unsigned read = 0;

    start(&h, argv, "m.prom", "every:1ms->mark;rss:1T", NULL);
    wait_sample(&h, in(&h, "m.prom"), "giveback_backoff_factor{program=\"idle\"} 1");
    for (; host_count_log(&h, "\"mark\"") < 500; read++) {
        char *text = file_text(in(&h, "m.prom"));
        ck_assert_msg(is_whole(text), "%s", text);
        free(text);
    }
    ck_assert_uint_gt(read, 10);
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

/* Each process has its own file where the path says so; else the file is that of the process which was started. */
START_TEST(test_forked_children)
{
    const char *argv[] = {"calls", "fork", NULL};
    char sample[200], name[40];
    struct host h;

    start(&h, argv, _i ? "m.%p.prom" : "m.prom", "", NULL);
    host_wait_line(&h, "ready");
    ck_assert_uint_eq(count_files(h.dir, ".prom"), _i ? 2 : 1);
    (void)snprintf(name, sizeof name, _i ? "m.%d.prom" : "m.prom", (int)h.pid);
    (void)snprintf(sample, sizeof sample, _i ? "giveback_releases_total{program=\"calls\",pid=\"%d\",kind=\"call\"} 2" : "giveback_releases_total{program=\"calls\",kind=\"call\"} 2", (int)h.pid);
    wait_sample(&h, in(&h, name), sample);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

static char target[400]; /* what the path names */

static void become_nobody(void)
{
    if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
        _exit(98);
}

static void make_link(void)
{
    char victim[410];
    (void)snprintf(victim, sizeof victim, "%s.victim", target);
    int fd = open(victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert(fd >= 0 && write(fd, "precious", 8) == 8 && symlink(victim, target) == 0);
    close(fd);
}

static void make_folder(void)
{
    ck_assert_int_eq(mkdir(target, 0755), 0);
}

static void make_fifo(void)
{
    ck_assert_int_eq(mkfifo(target, 0600), 0);
}

static void make_device(void)
{
    ck_assert_int_eq(mknod(target, S_IFCHR | 0666, makedev(1, 3)), 0);
}

static const struct {
    const char *error;
    void (*make)(void);
    void (*before)(void);
    bool root;
} bad[] = {
    {"ELOOP", make_link, NULL, false},         {"EISDIR", make_folder, NULL, false}, {"EINVAL", make_fifo, NULL, false},
    {"EINVAL", make_device, NULL, true},       {"ENOENT", NULL, NULL, false},        {"EACCES", NULL, become_nobody, true},
};

START_TEST(test_what_cannot_be_replaced_is_left_alone)
{
    const char *argv[] = {"hold", NULL};
    char folder[330], victim[410], said[100];
    struct host h;
    struct stat before, after;

    if (bad[_i].root && geteuid() != 0) {
        harness_skip("test_what_cannot_be_replaced_is_left_alone", "not root");
        return;
    }
    (void)snprintf(folder, sizeof folder, "%s/scratch/metrics.%d", harness_build(), (int)getpid());
    (void)snprintf(target, sizeof target, "%s/m", folder);
    (void)snprintf(victim, sizeof victim, "%s.victim", target);
    bool there = bad[_i].make || bad[_i].before;
    ck_assert(!there || mkdir(folder, 0755) == 0);
    if (bad[_i].make)
        bad[_i].make();
    ck_assert(!bad[_i].make || lstat(target, &before) == 0);
    start(&h, argv, target, "rss:1T", bad[_i].before);
    if (bad[_i].before) /* its log too is out of its reach, so it is told on stderr */
        (void)snprintf(h.log, sizeof h.log, "%s", h.err);
    host_wait_line(&h, "ready");
    int64_t full = host_anon(&h);
    (void)snprintf(said, sizeof said, "cannot be replaced (%s)", bad[_i].error);
    if (!bad[_i].before)
        host_wait_log(&h, said, 1);
    else
        host_wait_worker(&h, true);
    for (int i = 0; i < 2; i++) {
        host_kill(&h, SIGUSR1);
        for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; host_anon(&h) > full / 2 && harness_now() < end;)
            harness_look_again();
    }
    ck_assert_int_lt(host_anon(&h), full / 2);
    ck_assert_uint_le(host_count_log(&h, said), 1);
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert(!bad[_i].make || (lstat(target, &after) == 0 && before.st_ino == after.st_ino && before.st_mode == after.st_mode));
    if (bad[_i].make == make_link)
        ck_assert_str_eq(file_text(victim), "precious");
    ck_assert_uint_eq(there ? count_files(folder, ".tmp") : 0, 0);
    (void)(unlink(victim), unlink(target), rmdir(target), rmdir(folder));
    host_clean(&h);
}
END_TEST

/* A small file system of its own. */
static void small_disk(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", target, "tmpfs", 0, "size=64k") != 0)
        _exit(97);
}

static void fill_disk(const char *folder)
{
    char path[700], page[4096] = "";
    (void)snprintf(path, sizeof path, "%s/full", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    while (write(fd, page, sizeof page) > 0)
        ;
    ck_assert_int_eq(errno, ENOSPC);
    close(fd);
}

START_TEST(test_full_disk_keeps_the_old_file)
{
    const char *argv[] = {"hold", NULL};
    char path[500], seen[600], folder[600];
    struct host h;

    if (geteuid() != 0) {
        harness_skip("test_full_disk_keeps_the_old_file", "not root: no small file system");
        return;
    }
    (void)snprintf(target, sizeof target, "%s/scratch/disk.%d", harness_build(), (int)getpid());
    ck_assert_int_eq(mkdir(target, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/m", target);
    start(&h, argv, path, "rss:1T", small_disk);
    (void)snprintf(folder, sizeof folder, "/proc/%d/root%s", (int)h.pid, target);
    (void)snprintf(seen, sizeof seen, "/proc/%d/root%s", (int)h.pid, path);
    wait_sample(&h, seen, "giveback_releases_total{program=\"hold\",kind=\"signal\"} 0");
    host_wait_line(&h, "ready");
    fill_disk(folder);
    host_release(&h);
    host_wait_log(&h, "cannot be replaced (ENOSPC)", 1);
    host_release(&h);
    ck_assert_uint_eq(host_notices(&h), 1);
    char *text = file_text(seen);
    ck_assert_msg(is_whole(text) && strstr(text, "kind=\"signal\"} 0\n"), "%s", text);
    ck_assert_uint_eq(count_files(folder, "m"), 1);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
    ck_assert_int_eq(rmdir(target), 0);
}
END_TEST

Suite *suite_metrics(void)
{
    Suite *s = suite_create("metrics");
    TCase *t = tcase_create("metrics");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_test(t, test_from_the_start_and_after_each_action);
    tcase_add_test(t, test_off_means_no_file);
    tcase_add_test(t, test_reader_never_sees_a_part);
    tcase_add_loop_test(t, test_forked_children, 0, 2);
    tcase_add_loop_test(t, test_what_cannot_be_replaced_is_left_alone, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, test_full_disk_keeps_the_old_file);
    suite_add_tcase(s, t);
    return s;
}
