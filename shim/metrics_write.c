#include "metrics_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "notice.h"
#include "inherit.h"
#include "options.h"
#include "policy.h"
#include "preload.h"
#include "sink.h"
#include "sys.h"
#include "text.h"

static char metrics_pattern[SINK_PATH_MAX]; /* "": none */
static const char *metrics_program;
static int metrics_process; /* whose file it is; 0: each process has its own */
static struct metrics metrics;

/* Has the pattern a %p in it? */
static bool metrics_is_for_each(const char *pattern)
{
    for (const char *c = strchr(pattern, '%'); c && c[1]; c = strchr(c + 2, '%'))
        if (c[1] == 'p')
            return true;
    return false;
}

void metrics_write_start(const struct settings *s, const char *program)
{
    metrics_program = program;
    (void)inherit_absolute(s->metrics_path, metrics_pattern, sizeof metrics_pattern);
    /* One file cannot hold two processes' figures: it is that of the process which was started, not of its forked children. */
    metrics_process = metrics_is_for_each(metrics_pattern) ? 0 : (int)sys0(SYS_getpid);
}

/* Only a regular file is replaced: a rename over /dev/null, or over a link, would do harm. */
static int metrics_check(const char *path)
{
    struct stat st;
    long r = sys4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return (int)r;
    return S_ISREG(st.st_mode) ? 0 : S_ISLNK(st.st_mode) ? -ELOOP : S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
}

/* Into a file beside it, whose name nobody can know before, and then in its place. 0 or -errno. */
static int metrics_replace(const char *path, const char *text, size_t n)
{
    char beside[SINK_PATH_MAX + 48];
    struct text t;
    int error = metrics_check(path);

    if (error)
        return error;
    text_init(&t, beside, sizeof beside);
    text_str(&t, path);
    text_char(&t, '.');
    text_u64(&t, (uint64_t)sys0(SYS_getpid));
    text_char(&t, '.');
    text_u64(&t, (uint64_t)sys_clock(CLOCK_MONOTONIC));
    text_str(&t, ".tmp");
    int fd = (int)sys4(SYS_openat, AT_FDCWD, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fd;
    long r = sys3(SYS_write, fd, text, n);
    if (r == (long)n)
        r = sys2(SYS_fchmod, fd, 0644); /* a collector is another user, whatever the host's umask is */
    else if (r >= 0)
        r = -ENOSPC;
    sys1(SYS_close, fd);
    if (r == 0)
        r = sys4(SYS_renameat, AT_FDCWD, beside, AT_FDCWD, path);
    if (r < 0)
        sys3(SYS_unlinkat, AT_FDCWD, beside, 0);
    return (int)r;
}

static void metrics_say_lost(int error)
{
    static bool said; /* a forked child does not say again what its parent said */
    char line[512];
    struct text t;

    if (said)
        return;
    said = true;
    text_init(&t, line, sizeof line);
    text_str(&t, "GIVEBACK_METRICS: ");
    text_printable(&t, metrics_pattern, 300);
    text_str(&t, " cannot be replaced (");
    text_errno(&t, error);
    text_char(&t, ')');
    notice_worker(line);
}

static bool metrics_wanted(void)
{
    return metrics_pattern[0] && (!metrics_process || metrics_process == (int)sys0(SYS_getpid));
}

static void metrics_write(void)
{
    static char text[METRICS_MAX];
    char path[SINK_PATH_MAX];
    int pid = (int)sys0(SYS_getpid);
    size_t n;

    metrics.factor = policy_factor();
    n = metrics_text(&metrics, metrics_program, metrics_process ? 0 : pid, text, sizeof text);
    int error = preload_expand(metrics_pattern, pid, metrics_program, path, sizeof path);
    if (!error)
        error = metrics_replace(path, text, n);
    if (error)
        metrics_say_lost(-error);
}

void metrics_write_open(bool first)
{
    if (!metrics_wanted())
        return;
    if (first)
        metrics_start(&metrics);
    metrics_write();
}

void metrics_write_acted(const struct record *r, unsigned kind, bool unlogged, bool lost)
{
    if (!metrics_wanted())
        return;
    metrics_count(&metrics, r, kind, unlogged, lost);
    metrics_write();
}
