/* mapped: see mapped.h. */
#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "command.h"

struct mapping {
    uint64_t from, to, inode;
    unsigned major, minor;
    char mode[5];
    const char *path; /* with octal escapes undone, without " (deleted)" */
    bool deleted;
};

/* A file that was seen. */
struct seen {
    uint64_t inode;
    unsigned major, minor;
};

/* The kernel writes '\n' in a path as \012. */
static void unescape(char *s)
{
    char *out = s;

    while (*s)
        if (strncmp(s, "\\012", 4) == 0) {
            *out++ = '\n';
            s += 4;
        } else {
            *out++ = *s++;
        }
    *out = '\0';
}

static bool mapping_parse(char *line, struct mapping *m)
{
    static const char deleted[] = " (deleted)";
    unsigned long from, to, inode;
    int path = 0;
    size_t n;

    if (sscanf(line, "%lx-%lx %4s %*x %x:%x %lu %n", &from, &to, m->mode, &m->major, &m->minor, &inode, &path) != 6)
        return false;
    m->from = from;
    m->to = to;
    m->inode = inode;
    line += path;
    line[strcspn(line, "\n")] = '\0';
    n = strlen(line);
    m->deleted = n >= sizeof deleted && strcmp(line + n - (sizeof deleted - 1), deleted) == 0;
    if (m->deleted)
        line[n - (sizeof deleted - 1)] = '\0';
    unescape(line);
    m->path = line;
    return true;
}

/* The link in map_files is the mapped file itself, whatever stands under its name now, but needs a capability. Else what the
 * process sees under that name, if it is the same inode. */
static int mapping_open(pid_t pid, const struct mapping *m)
{
    char path[PATH_MAX + 64];
    struct stat status;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", pid, (unsigned long)m->from, (unsigned long)m->to);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        return fd;
    (void)snprintf(path, sizeof path, "/proc/%d/root%s", pid, m->path);
    if (!m->deleted)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) { /* a program whose file was replaced can still be read this way */
        (void)snprintf(path, sizeof path, "/proc/%d/exe", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd >= 0 && (fstat(fd, &status) != 0 || status.st_ino != m->inode)) {
        (void)close(fd);
        fd = -1;
        errno = ESTALE;
    }
    return fd;
}

static void complain_of_process(pid_t pid, int error)
{
    if (error == ENOENT || error == ESRCH)
        complain("%d: no such process", pid);
    else if (error == EACCES || error == EPERM)
        complain("%d belongs to another user (or may not be looked into); try again as that user or as root", pid);
    else
        complain("%d: /proc/%d/maps cannot be read: %s", pid, pid, strerror(error));
}

static bool is_seen(struct seen **seen, size_t *n, const struct mapping *m)
{
    if (!m->inode)
        return false;
    for (size_t i = 0; i < *n; i++)
        if ((*seen)[i].inode == m->inode && (*seen)[i].major == m->major && (*seen)[i].minor == m->minor)
            return true;
    struct seen *more = realloc(*seen, (*n + 1) * sizeof **seen);
    if (!more)
        return true;
    *seen = more;
    more[(*n)++] = (struct seen){m->inode, m->major, m->minor};
    return false;
}

static bool mapping_visit(pid_t pid, const struct mapping *m, mapped_visit visit, void *context)
{
    if (m->path[0] == '[') {
        if (strcmp(m->path, "[vdso]") != 0)
            return false;
        visit(context, -1, m->path);
        return true;
    }
    int fd = mapping_open(pid, m);
    if (fd >= 0)
        visit(context, fd, m->path);
    else
        complain("%s of %d cannot be read: %s", m->path, pid,
                 errno == ESTALE || m->deleted ? "another file stands there by now, or none; root could still read it" : strerror(errno));
    return true;
}

int mapped_read(pid_t pid, mapped_visit visit, void *context)
{
    char path[64], *line = NULL;
    size_t size = 0, n_seen = 0;
    struct seen *seen = NULL;
    bool any = false;
    struct mapping m;

    (void)snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    if (!maps) {
        complain_of_process(pid, errno);
        return -1;
    }
    errno = 0;
    while (getline(&line, &size, maps) > 0)
        if (mapping_parse(line, &m) && strchr(m.mode, 'x') && (m.inode || m.path[0] == '[') && !is_seen(&seen, &n_seen, &m))
            any |= mapping_visit(pid, &m, visit, context);
    int error = ferror(maps) ? errno : 0;
    (void)fclose(maps);
    free(line);
    free(seen);
    if (error || !any) {
        if (error)
            complain_of_process(pid, error);
        else
            complain("%d has no program: it is a kernel thread, or has ended", pid);
        return -1;
    }
    return 0;
}
