#include "place.h"

#include <errno.h>
#include <stdbool.h>

#include "text.h"

#define PLACE_FOLDER "giveback"

int place_folder(unsigned i, const char *named, const char *runtime, unsigned uid, char *path, size_t size, size_t *parent)
{
    struct text t;

    text_init(&t, path, size);
    *parent = 0;
    if (*named) {
        text_str(&t, named);
        return i ? -ENOENT : t.cut ? -ENAMETOOLONG : 0;
    }
    if (!*runtime)
        i++;
    switch (i) {
    case 0: text_str(&t, runtime); break;
    case 1:
        text_str(&t, "/run/user/");
        text_u64(&t, uid);
        break;
    case 2:
        text_str(&t, "/tmp/" PLACE_FOLDER "-");
        text_u64(&t, uid);
        return t.cut ? -ENAMETOOLONG : 0;
    default: return -ENOENT;
    }
    *parent = t.len;
    text_str(&t, "/" PLACE_FOLDER);
    return t.cut ? -ENAMETOOLONG : 0;
}

void place_name(int pid, char *name, size_t size)
{
    struct text t;

    text_init(&t, name, size);
    text_i64(&t, pid);
    text_str(&t, ".sock");
}

const char *place_folder_wrong(const struct stat *st, unsigned uid, int only)
{
    bool own = st->st_uid == uid;

    if (!S_ISDIR(st->st_mode))
        return "is no folder";
    if (!own && (only || st->st_uid != 0))
        return "belongs to another user";
    if (only && (st->st_mode & 077))
        return "may be entered by others; chmod it to 0700";
    if ((st->st_mode & 022) && !(st->st_mode & S_ISVTX))
        return "may be written by others";
    return NULL;
}

const char *place_file_wrong(const struct stat *st, unsigned uid, mode_t kind)
{
    if ((st->st_mode & S_IFMT) != kind)
        return kind == S_IFIFO ? "is no FIFO" : "is no socket";
    if (st->st_uid != uid)
        return "belongs to another user";
    if (kind == S_IFIFO && (st->st_mode & 022))
        return "may be written by others; chmod it to 0600";
    return NULL;
}
