#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORD_MARK "\"action\":" /* what a record has and a notice has not */

static const struct {
    const char *name, *preload;
} allocator_table[ALLOCATORS] = {
    [GLIBC] = {"glibc", NULL},
    [TCMALLOC] = {"tcmalloc", "libtcmalloc.so.4"},
    [TCMALLOC_MINIMAL] = {"tcmalloc_minimal", "libtcmalloc_minimal.so.4"},
    [JEMALLOC] = {"jemalloc", "libjemalloc.so.2"},
    [MIMALLOC] = {"mimalloc", "libmimalloc.so.2.0"},
    [TBB] = {"TBB", "libtbbmalloc_proxy.so.2"},
};

void harness_look_again(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

int64_t harness_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

const char *harness_build(void)
{
    static char path[256];
    if (!path[0]) {
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        path[n > 0 ? n : 0] = 0;
        for (int up = 0; up < 2; up++) /* build/preload/preload -> build */
            *strrchr(path, '/') = 0;
    }
    return path;
}

const char *harness_library(void)
{
    static char path[300];
    const char *other = getenv("TEST_LIBRARY");
    if (!path[0])
        (void)snprintf(path, sizeof path, other ? "%s" : "%s/libgiveback.so", other ? other : harness_build());
    return path;
}

const char *harness_victim(const char *name)
{
    static char path[300];
    (void)snprintf(path, sizeof path, "%s/victim/%s", harness_build(), name);
    return path;
}

void harness_skip(const char *name, const char *reason)
{
    const char *path = getenv("HARNESS_SKIPPED");
    char line[300];
    int n = snprintf(line, sizeof line, "skipped: %s: %s\n", name, reason);
    int fd = open(path ? path : "/dev/stdout", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    ck_assert_msg(fd >= 0 && write(fd, line, (size_t)n) == n, "cannot note %s", line);
    close(fd);
}

bool harness_allocator(enum allocator a, const char *name)
{
    char path[200], what[200];
    if (!allocator_table[a].preload)
        return true;
    static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folders[i], allocator_table[a].preload);
        if (file_exists(path))
            return true;
    }
    (void)snprintf(what, sizeof what, "%s under %s", name, allocator_table[a].name);
    (void)snprintf(path, sizeof path, "%s is not installed", allocator_table[a].preload);
    harness_skip(what, path);
    return false;
}

const char *allocator_name(enum allocator a)
{
    return allocator_table[a].name;
}

char *file_text(const char *path)
{
    size_t size = 0, room = 1 << 16;
    char *text = malloc(room);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;
    while (fd >= 0 && (n = read(fd, text + size, room - size - 1)) > 0) {
        size += (size_t)n;
        if (room - size < 4096)
            text = realloc(text, room *= 2);
    }
    if (fd >= 0)
        close(fd);
    text[size] = 0;
    return text;
}

bool file_exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

/* The value of LD_PRELOAD; empty: none. */
static void preload_value(const struct host_setup *s, char *value, size_t size)
{
    const char *allocator = allocator_table[s->allocator].preload;
    const char *own = s->place == WITHOUT ? NULL : harness_library();
    const char *first = s->place == LAST ? allocator : own, *second = s->place == LAST ? own : allocator;
    (void)snprintf(value, size, "%s%s%s%s", s->preload ? s->preload : "", first ? first : "", first && second ? ":" : "",
                   second ? second : "");
}

/* Does the test give this variable a value of its own? */
static bool overridden(const char *variable, const char *const *env)
{
    size_t n = strcspn(variable, "=") + 1;
    for (; env && *env; env++)
        if (strncmp(*env, variable, n) == 0)
            return true;
    return false;
}

/* The environment of the host. It is built from nothing, so that no test depends on who runs it. */
static char **environment_make(const struct host *h, const struct host_setup *s)
{
    static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", locale[] = "LC_ALL=C.UTF-8",
                home[] = "HOME=/nonexistent", python[] = "PYTHONDONTWRITEBYTECODE=1", format[] = "GIVEBACK_FORMAT=json";
    static char preload[1200] = "LD_PRELOAD=", log[400], *list[64];
    size_t n = 0, prefix = strlen("LD_PRELOAD=");
    (void)snprintf(log, sizeof log, "GIVEBACK_LOG=%s", s->log ? s->log : h->log);
    preload_value(s, preload + prefix, sizeof preload - prefix);
    char *fixed[] = {path, locale, home, python, format, log, preload};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if ((fixed[i] != preload || preload[prefix]) && !overridden(fixed[i], s->env))
            list[n++] = fixed[i];
    /* The same suites once more with further events, which every promise must bear (make check-watched). */
    static char on[300];
    if (getenv("TEST_ON") && !overridden("GIVEBACK_ON=", s->env)) {
        (void)snprintf(on, sizeof on, "GIVEBACK_ON=%s", getenv("TEST_ON"));
        list[n++] = on;
    }
    /* Without the library its variables have no business there, but they may not change the host either: kept. */
    for (size_t i = 0; s->env && s->env[i] && n < 63; i++)
        list[n++] = (char *)(uintptr_t)s->env[i];
    list[n] = NULL;
    return list;
}

static int open_for(const char *path, int flags, int as)
{
    int fd = open(path, flags | O_CLOEXEC, 0644);
    return fd < 0 ? -1 : dup2(fd, as);
}

static void host_exec(const struct host *h, const struct host_setup *s, int in)
{
    const char *file = strchr(s->argv[0], '/') ? s->argv[0] : harness_victim(s->argv[0]);
    char **env = environment_make(h, s);
    for (int n = 1; n < NSIG; n++) /* whoever runs us, and host_say, may ignore some */
        (void)signal(n, SIG_DFL);
    if (dup2(in, 0) < 0 || open_for(h->out, O_WRONLY | O_CREAT | O_APPEND, 1) < 0 ||
        open_for(h->err, O_WRONLY | O_CREAT | O_APPEND, 2) < 0 || chdir(h->dir) != 0)
        _exit(126);
    if (s->before_exec)
        s->before_exec();
    (void)execve(file, (char *const *)(uintptr_t)s->argv, env);
    perror(file);
    _exit(127);
}

void host_start(struct host *h, const struct host_setup *s)
{
    static unsigned number;
    int pipes[2];
    memset(h, 0, sizeof *h);
    do /* what an earlier test that failed has left stands in the way of the same pid */
        (void)snprintf(h->dir, sizeof h->dir, "%s/scratch/%d.%u", harness_build(), (int)getpid(), number++);
    while (mkdir(h->dir, 0755) != 0 && errno == EEXIST);
    ck_assert_msg(file_exists(h->dir), "cannot make %s: %s", h->dir, strerror(errno));
    (void)snprintf(h->out, sizeof h->out, "%s/out", h->dir);
    (void)snprintf(h->err, sizeof h->err, "%s/err", h->dir);
    (void)snprintf(h->log, sizeof h->log, "%s/log", h->dir);
    ck_assert(pipe2(pipes, O_CLOEXEC) == 0);
    (void)fflush(NULL);
    h->pid = fork();
    ck_assert(h->pid >= 0);
    if (h->pid == 0)
        host_exec(h, s, pipes[0]);
    close(pipes[0]);
    h->in = pipes[1];
    if (s->input) {
        host_say(h, s->input);
        close(h->in);
        h->in = -1;
    }
}

void host_victim(struct host *h, const char *victim, const char *argument, enum allocator a, enum place p)
{
    const char *argv[] = {victim, argument, NULL};
    host_start(h, &(struct host_setup){.argv = argv, .allocator = a, .place = p});
}

void host_say(struct host *h, const char *text)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a host that has died shows in its status */
    for (size_t n = strlen(text), done = 0; done < n;) {
        ssize_t w = write(h->in, text + done, n - done);
        if (w < 0)
            return;
        done += (size_t)w;
    }
}

void host_kill(const struct host *h, int sig)
{
    ck_assert_msg(!h->ended, "the host had ended (status %#x) before signal %d", h->status, sig);
    ck_assert(kill(h->pid, sig) == 0);
}

bool host_gone(struct host *h)
{
    if (!h->ended && waitpid(h->pid, &h->status, WNOHANG) == h->pid)
        h->ended = true;
    return h->ended;
}

void host_fail(struct host *h, const char *what)
{
    char path[64];
    char *out = file_text(h->out), *err = file_text(h->err), *log = file_text(h->log);
    (void)snprintf(path, sizeof path, "/proc/%d/syscall", (int)h->pid);
    char *call = file_text(path);
    if (host_gone(h))
        ck_abort_msg("%s: the host has ended with status %#x\nout: %.600s\nerr: %.600s\nlog: %.900s\n(%s)", what, h->status,
                     out, err, log, h->dir);
    ck_abort_msg("%s: not after %d s; threads %u, worker %d, main thread in %s\nout: %.600s\nerr: %.600s\nlog: %.900s\n(%s)",
                 what, HARNESS_DEADLINE, host_threads(h), (int)host_worker(h), call, out, err, log, h->dir);
}

static unsigned count_lines(const char *path, const char *text, bool whole)
{
    char *all = file_text(path), *rest = all, *line;
    unsigned n = 0;
    while ((line = strsep(&rest, "\n")))
        if (rest && (whole ? strcmp(line, text) == 0 : strstr(line, text) != NULL))
            n++;
    free(all);
    return n;
}

void host_wait_lines(struct host *h, const char *line, unsigned n)
{
    char what[200];
    (void)snprintf(what, sizeof what, "waiting for %u lines \"%s\" on stdout", n, line);
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000;; harness_look_again()) {
        bool gone = host_gone(h); /* asked first: what it wrote before its end still counts */
        if (count_lines(h->out, line, true) >= n)
            return;
        if (gone || harness_now() > end)
            host_fail(h, what);
    }
}

void host_wait_line(struct host *h, const char *line)
{
    host_wait_lines(h, line, 1);
}

unsigned host_count_log(const struct host *h, const char *text)
{
    return count_lines(h->log, text, false);
}

void host_wait_log(struct host *h, const char *text, unsigned n)
{
    char what[200];
    (void)snprintf(what, sizeof what, "waiting for %u lines with \"%s\" in the log", n, text);
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000;; harness_look_again()) {
        bool gone = host_gone(h);
        if (host_count_log(h, text) >= n)
            return;
        if (gone || harness_now() > end)
            host_fail(h, what);
    }
}

unsigned host_records(const struct host *h)
{
    return host_count_log(h, RECORD_MARK);
}

unsigned host_notices(const struct host *h)
{
    return host_count_log(h, "") - host_records(h);
}

void host_record(struct host *h, unsigned n, char *buffer, size_t size)
{
    host_wait_log(h, RECORD_MARK, n + 1);
    char *all = file_text(h->log), *rest = all, *line;
    while ((line = strsep(&rest, "\n")))
        if (strstr(line, RECORD_MARK) && n-- == 0)
            (void)snprintf(buffer, size, "%s", line);
    free(all);
}

void host_release(struct host *h)
{
    unsigned n = host_records(h);
    host_kill(h, SIGUSR1);
    host_wait_log(h, RECORD_MARK, n + 1);
}

int host_end(struct host *h)
{
    if (h->in >= 0)
        close(h->in);
    h->in = -1;
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; !host_gone(h); harness_look_again())
        if (harness_now() > end)
            host_fail(h, "waiting for the host's end");
    return h->status;
}

void host_stop(struct host *h)
{
    if (!h->ended) {
        (void)kill(h->pid, SIGKILL);
        (void)host_end(h);
    }
    if (h->in >= 0)
        close(h->in);
    h->in = -1;
}

void host_clean(struct host *h)
{
    char path[700];
    host_stop(h);
    DIR *d = opendir(h->dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        (void)snprintf(path, sizeof path, "%s/%s", h->dir, e->d_name);
        (void)unlink(path);
    }
    if (d)
        closedir(d);
    ck_assert_msg(rmdir(h->dir) == 0, "cannot remove %s: %s", h->dir, strerror(errno));
}
