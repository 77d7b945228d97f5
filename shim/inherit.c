#include "inherit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "sys.h"
#include "text.h"

#define INHERIT_FOLDER 1024

struct inherit_file {
    int number;
    enum inherit_kind kind;
    dev_t device;
    ino_t inode;
    long id; /* of an eventfd: all of them have one inode */
};
static struct inherit_file inherit_files[EVENT_MAX];
static size_t inherit_count;
static char inherit_folder[INHERIT_FOLDER]; /* with a '/' at its end; "": no event needs it */

/* Of an eventfd, as the kernel counts them since Linux 5.2; -1: it is none, or cannot be told from another one. */
static long inherit_eventfd(int number)
{
    static const char key[] = "\neventfd-id:";
    char path[48], text[512];
    struct text t;
    long id = -1;

    text_init(&t, path, sizeof path);
    text_str(&t, "/proc/thread-self/fdinfo/");
    text_i64(&t, number);
    int fd = (int)sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    long n = sys3(SYS_read, fd, text, sizeof text - 1);
    sys1(SYS_close, fd);
    for (long at = 0; at + (long)sizeof key - 1 < n && id < 0; at++) {
        if (memcmp(text + at, key, sizeof key - 1) != 0)
            continue;
        id = 0;
        for (at += (long)sizeof key - 1; at < n && text[at] != '\n'; at++)
            if (text[at] >= '0' && text[at] <= '9')
                id = id * 10 + (text[at] - '0');
    }
    return id;
}

static struct inherit_file inherit_look(int number)
{
    struct inherit_file f = {.number = number, .kind = INHERIT_CLOSED, .id = -1};
    struct stat st;

    if (sys2(SYS_fstat, number, &st) != 0)
        return f;
    long flags = sys2(SYS_fcntl, number, F_GETFL);
    f.device = st.st_dev;
    f.inode = st.st_ino;
    f.kind = INHERIT_WRONG;
    if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH))
        return f;
    if (S_ISFIFO(st.st_mode))
        f.kind = INHERIT_PIPE;
    else if (S_ISSOCK(st.st_mode))
        f.kind = INHERIT_SOCKET;
    else if (!(st.st_mode & S_IFMT) && (f.id = inherit_eventfd(number)) >= 0)
        f.kind = INHERIT_EVENTFD;
    return f;
}

/* In order, each number once. */
static void inherit_add(int number)
{
    size_t at = inherit_count;

    for (size_t i = 0; i < inherit_count; i++)
        if (inherit_files[i].number == number)
            return;
    for (; at > 0 && inherit_files[at - 1].number > number; at--)
        inherit_files[at] = inherit_files[at - 1];
    inherit_files[at] = inherit_look(number);
    inherit_count++;
}

static void inherit_keep_folder(void)
{
    long n = sys2(SYS_getcwd, inherit_folder, sizeof inherit_folder - 1); /* the host may change its folder (daemon) */

    if (n > 1)
        inherit_folder[n - 1] = '/';
    inherit_folder[n > 1 ? n : 0] = '\0';
}

void inherit_start(const struct event *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind == EVENT_FD)
            inherit_add((int)events[i].amount);
        if (event_table[events[i].kind].takes == EVENT_TAKES_PATH && events[i].argument[0] && events[i].argument[0] != '/')
            inherit_keep_folder();
    }
}

bool inherit_absolute(const char *path, char *pattern, size_t size)
{
    struct text t;

    text_init(&t, pattern, size);
    if (path[0] && path[0] != '/') {
        if (!inherit_folder[0])
            inherit_keep_folder();
        for (const char *c = inherit_folder; *c; c++) {
            text_char(&t, *c);
            if (*c == '%')
                text_char(&t, '%');
        }
    }
    text_str(&t, path);
    return !t.cut;
}

size_t inherit_numbers(int numbers[EVENT_MAX])
{
    for (size_t i = 0; i < inherit_count; i++)
        numbers[i] = inherit_files[i].number;
    return inherit_count;
}

enum inherit_kind inherit_check(int number, bool *same)
{
    for (size_t i = 0; i < inherit_count; i++) {
        const struct inherit_file *f = &inherit_files[i];

        if (f->number != number)
            continue;
        struct inherit_file now = inherit_look(number);
        *same = now.kind == f->kind && now.device == f->device && now.inode == f->inode && now.id == f->id;
        return f->kind;
    }
    *same = false;
    return INHERIT_CLOSED;
}
