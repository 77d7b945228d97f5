#include "memory.h"

#include <errno.h>
#include <fcntl.h>

#include "sys.h"

enum { MEMORY_TEXT = 4096 }; /* status: 1.5 KB, smaps_rollup: 0.8 KB; stat: 0.4 KB */

/* The file's text, or -errno. A file of /proc may come in pieces; the text ends where a read gives nothing. */
static long memory_text(const char *path, char *buffer, size_t size)
{
    long fd = sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    size_t n = 0;

    if (fd < 0)
        return fd;
    while (n < size) {
        long got = sys3(SYS_read, fd, buffer + n, size - n);
        if (got == -EINTR)
            continue;
        if (got < 0) {
            sys1(SYS_close, fd);
            return got;
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    sys1(SYS_close, fd);
    return (long)n;
}

int memory_read(struct procfs_memory *m)
{
    /* /proc/self is the first thread, which has no memory any more once it has left by pthread_exit; ours has. */
    static const char *const paths[] = {"/proc/self/status", "/proc/thread-self/status"};
    char text[MEMORY_TEXT];
    int error = -ENODATA;

    procfs_memory_unknown(m);
    for (size_t i = 0; i < sizeof paths / sizeof *paths && error == -ENODATA; i++) {
        long n = memory_text(paths[i], text, sizeof text);

        error = n < 0 ? (int)n : procfs_status(text, (size_t)n, m);
    }
    return error;
}

int64_t memory_anon(void)
{
    struct procfs_memory m;

    return memory_read(&m) ? PROCFS_UNKNOWN : m.anon;
}

int memory_read_detail(struct procfs_memory *m)
{
    char text[MEMORY_TEXT];
    long n = memory_text("/proc/thread-self/smaps_rollup", text, sizeof text);

    return n < 0 ? (int)n : procfs_smaps_rollup(text, (size_t)n, m);
}

int64_t memory_faults(void)
{
    char text[MEMORY_TEXT];
    long n = memory_text("/proc/self/stat", text, sizeof text);
    int64_t faults;

    return n < 0 || procfs_stat_minflt(text, (size_t)n, &faults) ? PROCFS_UNKNOWN : faults;
}
