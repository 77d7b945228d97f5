/* The kernel's own pressure files: a trigger is registered in them, and real pressure gives back, where a cgroup may be made. */
#include "pressure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define TRIGGER "c29tZSAyMDAwMDAgMjAwMDAwMAA=" /* some 200000 2000000, with its NUL */

/* A descriptor of the worker's whose link has `part` in it: fetched, as the same open file; -1: there is none. */
static int worker_descriptor(struct host *h, const char *part, char *target, size_t size)
{
    char path[64], entry[400];
    pid_t tid = host_worker(h);
    int handle = (int)syscall(SYS_pidfd_open, tid, O_EXCL /* PIDFD_THREAD */), fd = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/fd", (int)h->pid, (int)tid);
    DIR *d = opendir(path);

    for (struct dirent *e; d && (e = readdir(d)) && fd < 0;) {
        (void)snprintf(entry, sizeof entry, "%s/%s", path, e->d_name);
        ssize_t n = readlink(entry, target, size - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strstr(target, part)) {
            fd = (int)syscall(SYS_pidfd_getfd, handle, atoi(e->d_name), 0);
            ck_assert_msg(fd >= 0, "pidfd_getfd: %s", strerror(errno));
        }
    }
    if (d)
        closedir(d);
    close(handle);
    return fd;
}

static void wait_polling(struct host *h)
{
    char path[64], *text;
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000;; harness_look_again()) {
        (void)snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)h->pid, (int)host_worker(h));
        bool polling = strtol(text = file_text(path), NULL, 10) == SYS_ppoll;
        free(text);
        if (polling)
            return;
        if (host_gone(h) || harness_now() > end)
            host_fail(h, "waiting for the worker to poll");
    }
}

/* A second trigger on the same open file is refused as busy when there is one. */
static void has_trigger(struct host *h, const char *part)
{
    char target[300] = "";

    wait_polling(h);
    int fd = worker_descriptor(h, part, target, sizeof target);
    if (fd < 0)
        host_fail(h, "looking for the kernel's file");
    ck_assert_msg(write(fd, "some 200000 2000000", 20) == -1 && errno == EBUSY, "%s has no trigger: %s", target, strerror(errno));
    close(fd);
}

static const struct {
    const char *watch, *write, *part;
    bool nobody;
} real[] = {
    {"/proc/pressure/memory", TRIGGER, "/pressure/memory", false},
    {NULL, NULL, "pressure", false},
    {NULL, NULL, "/pressure/memory", true},
};

START_TEST(test_kernels_file_gets_a_trigger)
{
    const char *argv[] = {"idle", NULL};
    struct host h;

    pressure_make_place("none");
    if (geteuid() != 0 || access("/proc/pressure/memory", W_OK) != 0) {
        harness_skip("test_kernels_file_gets_a_trigger", "not root, or no /proc/pressure");
        return;
    }
    if (real[_i].nobody)
        pressure_open_log();
    pressure_start(&h, argv, "pressure->mark", real[_i].watch, real[_i].write, real[_i].nobody ? pressure_become_nobody : NULL);
    has_trigger(&h, real[_i].part);
    pressure_end(&h, 7 << 8);
}
END_TEST

static char watched_cgroup[400], limited_cgroup[400]; /* "": there is none */

static bool put(const char *folder, const char *name, const char *text)
{
    char path[500];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return done;
}

/* A cgroup of this test's own below ours, in the hierarchy whose line of /proc/self/cgroup has this mark. */
static bool make_cgroup(char *path, size_t size, const char *root, const char *mark)
{
    char *text = file_text("/proc/self/cgroup"), *at = strstr(text, mark);
    if (!at)
        return false;
    at += strlen(mark);
    (void)snprintf(path, size, "%s%.*s/giveback.%d", root, (int)strcspn(at, "\n"), at, (int)getpid());
    free(text);
    if (mkdir(path, 0755) == 0)
        return true;
    *path = '\0';
    return false;
}

/* The cgroup whose pressure is watched, and one (the same, or in cgroup v1's memory hierarchy) in which a file does not fit. */
static bool make_cgroups(void)
{
    bool v2 = file_exists("/sys/fs/cgroup/cgroup.controllers");
    if (geteuid() != 0 || !make_cgroup(watched_cgroup, sizeof watched_cgroup, v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified", "0::"))
        return false;
    if (put(watched_cgroup, "memory.max", "240M"))
        return true;
    return make_cgroup(limited_cgroup, sizeof limited_cgroup, "/sys/fs/cgroup/memory", ":memory:") &&
           put(limited_cgroup, "memory.limit_in_bytes", "64M");
}

static void remove_cgroups(void)
{
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; *limited_cgroup && rmdir(limited_cgroup) && harness_now() < end;)
        harness_look_again();
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; *watched_cgroup && rmdir(watched_cgroup) && harness_now() < end;)
        harness_look_again();
}

static void join_watched(void)
{
    if (!put(watched_cgroup, "cgroup.procs", "0"))
        _exit(95);
}

static void join_both(void)
{
    join_watched();
    if (*limited_cgroup && !put(limited_cgroup, "cgroup.procs", "0"))
        _exit(94);
}

/* 256 MiB that nobody has in memory. */
static void make_file(void)
{
    int fd = open(pressure_place, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char *block = malloc(1 << 20);
    memset(block, 'x', 1 << 20);
    for (int i = 0; i < 256; i++)
        ck_assert_int_eq(write(fd, block, 1 << 20), 1 << 20);
    ck_assert(fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    free(block);
    close(fd);
}

START_TEST(test_real_pressure_in_the_own_cgroup)
{
    const char *argv[] = {"hold", NULL}, *thrash[] = {"thrash", pressure_make_place("file"), NULL};
    struct host h, thrashing[2];
    char record[4096], event[64];

    if (!make_cgroups()) {
        remove_cgroups();
        harness_skip("test_real_pressure_in_the_own_cgroup", "no cgroup with a limit of its own can be made");
        return;
    }
    make_file();
    pressure_start(&h, argv, "pressure", NULL, NULL, join_watched);
    has_trigger(&h, strrchr(watched_cgroup, '/'));
    for (int i = 0; i < 2; i++)
        host_start(&thrashing[i], &(struct host_setup){.argv = thrash, .place = WITHOUT, .before_exec = join_both});
    host_record(&h, 0, record, sizeof record);
    json_string(record, "event", event, sizeof event);
    ck_assert_str_eq(event, "pressure");
    ck_assert_int_gt(json_number(record, "returned"), 32 * MIB);
    for (int i = 0; i < 2; i++) {
        host_end(&thrashing[i]);
        host_clean(&thrashing[i]);
    }
    pressure_end(&h, 0);
    remove_cgroups();
}
END_TEST

/* Moved away from it, and it is gone: the cgroup in which the process is then is watched. */
START_TEST(test_cgroup_that_is_removed)
{
    const char *argv[] = {"idle", NULL};
    char id[24], parent[400];
    struct host h;

    pressure_make_place("none");
    if (!make_cgroups()) {
        remove_cgroups();
        harness_skip("test_cgroup_that_is_removed", "no cgroup can be made");
        return;
    }
    pressure_start(&h, argv, "pressure->mark", NULL, NULL, join_watched);
    has_trigger(&h, strrchr(watched_cgroup, '/'));
    (void)snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(watched_cgroup, '/') - watched_cgroup), watched_cgroup);
    (void)snprintf(id, sizeof id, "%d", (int)h.pid);
    ck_assert(put(parent, "cgroup.procs", id));
    char *name = strrchr(watched_cgroup, '/') + 1;
    remove_cgroups();
    char target[300];
    int fd;
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; (fd = worker_descriptor(&h, name, target, sizeof target)) >= 0; harness_look_again()) {
        close(fd);
        if (harness_now() > end)
            host_fail(&h, "waiting for the removed cgroup to be let go");
    }
    has_trigger(&h, "pressure");
    ck_assert_uint_eq(host_notices(&h), 0);
    pressure_end(&h, 7 << 8);
}
END_TEST

Suite *suite_psi(void)
{
    Suite *s = suite_create("psi");
    TCase *t = tcase_create("psi");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_kernels_file_gets_a_trigger, 0, sizeof real / sizeof *real);
    tcase_add_test(t, test_real_pressure_in_the_own_cgroup);
    tcase_add_test(t, test_cgroup_that_is_removed);
    suite_add_tcase(s, t);
    return s;
}
