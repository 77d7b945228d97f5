#include "table.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>

#include "sys.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

static bool table_is_kept(int fd, const int *kept, size_t n)
{
    while (n > 0)
        if (kept[--n] == fd)
            return true;
    return false;
}

/* Before Linux 5.9. The table is ours alone by now; reading a folder while closing what it lists may skip entries, so
 * again until nothing was left to close. */
static void table_close_all(const int *kept, size_t n_kept)
{
    char entries[1024] __attribute__((aligned(8)));
    int folder = (int)sys4(SYS_openat, AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

    for (bool closed = folder >= 0; closed; sys3(SYS_lseek, folder, 0, SEEK_SET)) {
        closed = false;
        for (long n; (n = sys3(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
            for (long at = 0; at < n; at += ((struct dirent64 *)(entries + at))->d_reclen) {
                int fd = 0;
                const char *c = ((struct dirent64 *)(entries + at))->d_name;

                for (; *c >= '0' && *c <= '9'; c++)
                    fd = fd * 10 + (*c - '0');
                if (!*c && fd != folder && !table_is_kept(fd, kept, n_kept) && sys1(SYS_close, fd) == 0)
                    closed = true;
            }
        }
    }
    if (folder >= 0)
        sys1(SYS_close, folder);
}

/* All but the kept ones, which are in order. With CLOSE_RANGE_UNSHARE (Linux 5.9) the others are not even copied where none is
 * kept. */
static bool table_close_ranges(const int *kept, size_t n)
{
    unsigned from = 0, flags = CLOSE_RANGE_UNSHARE;

    for (size_t i = 0; i <= n; i++) {
        unsigned to = i < n ? (unsigned)kept[i] - 1 : ~0U;

        if (from <= to && sys3(SYS_close_range, from, to, flags) != 0)
            return false;
        from = to + 2;
        flags = 0;
    }
    return true;
}

void table_leave(const int *kept, size_t n)
{
    if (table_close_ranges(kept, n) || sys1(SYS_unshare, CLONE_FILES) < 0)
        return;
    table_close_all(kept, n);
}
