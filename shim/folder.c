#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "place.h"
#include "sys.h"
#include "text.h"

int folder_open(struct folder_file *f, const char *path, bool make, bool only, const char **wrong)
{
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (only ? O_NOFOLLOW : 0);
    struct stat st;

    *wrong = NULL;
    f->folder = -1;
    if (make)
        sys3(SYS_mkdirat, AT_FDCWD, path, 0700);
    int fd = (int)sys4(SYS_openat, AT_FDCWD, path, flags, 0);
    long error = fd < 0 ? fd : sys2(SYS_fstat, fd, &st);
    if (error < 0) { /* a link in its place is no folder either */
        if (fd >= 0)
            sys1(SYS_close, fd);
        return (int)error;
    }
    *wrong = place_folder_wrong(&st, (unsigned)sys0(SYS_geteuid), only);
    if (*wrong) {
        sys1(SYS_close, fd);
        return -EPERM;
    }
    f->folder = fd;
    return 0;
}

int folder_open_of(struct folder_file *f, const char *path, const char **wrong)
{
    const char *slash = strrchr(path, '/');
    char folder[2048];
    struct text t;

    *wrong = NULL;
    f->folder = -1;
    if (!slash || !slash[1])
        return -EINVAL;
    text_init(&t, f->name, sizeof f->name);
    text_str(&t, slash + 1);
    bool cut = t.cut;
    text_init(&t, folder, sizeof folder);
    text_mem(&t, path, slash > path ? (size_t)(slash - path) : 1);
    return cut || t.cut ? -ENAMETOOLONG : folder_open(f, folder, false, false, wrong);
}

void folder_close(struct folder_file *f)
{
    if (f->folder >= 0)
        sys1(SYS_close, f->folder);
    f->folder = -1;
}

int folder_stat(const struct folder_file *f, const char *name, struct stat *st)
{
#ifdef SYS_newfstatat
    return (int)sys4(SYS_newfstatat, f->folder, name, st, AT_SYMLINK_NOFOLLOW);
#else
    return (int)sys4(SYS_fstatat, f->folder, name, st, AT_SYMLINK_NOFOLLOW);
#endif
}

void folder_made(struct folder_file *f)
{
    struct stat st;

    f->ours = folder_stat(f, f->name, &st) == 0;
    f->device = st.st_dev;
    f->inode = st.st_ino;
}

void folder_remove(struct folder_file *f)
{
    struct stat st;

    if (f->ours && folder_stat(f, f->name, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode)
        sys3(SYS_unlinkat, f->folder, f->name, 0);
    f->ours = false;
}
