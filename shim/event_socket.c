#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "control.h"
#include "options.h"
#include "place.h"
#include "post.h"
#include "sys.h"
#include "watch.h"

#define SOCKET_TRIES 100 /* stale sockets removed at one start */

/* A path of any length through a descriptor fits into a sockaddr_un, which takes 107 bytes. */
static size_t event_socket_address(struct sockaddr_un *a, int fd, const char *name)
{
    struct text t;

    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    text_init(&t, a->sun_path, sizeof a->sun_path);
    text_str(&t, "/proc/thread-self/fd/");
    text_i64(&t, fd);
    text_str(&t, name ? "/" : NULL);
    text_str(&t, name);
    return offsetof(struct sockaddr_un, sun_path) + t.len + 1;
}

static int event_socket_new(void)
{
    return (int)sys3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Does somebody listen on the socket of that name? Asked by connecting to it: a process id says nothing where processes of several
 * pid namespaces share a folder. */
static bool event_socket_answers(const struct folder_file *f, const char *name)
{
    struct sockaddr_un a;
    int file = (int)sys4(SYS_openat, f->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0), s = event_socket_new();
    bool answers = true;

    if (file >= 0 && s >= 0) {
        size_t n = event_socket_address(&a, file, NULL);
        answers = sys3(SYS_connect, s, &a, n) != -ECONNREFUSED;
    }
    if (file >= 0)
        sys1(SYS_close, file);
    if (s >= 0)
        sys1(SYS_close, s);
    return answers;
}

/* PID.sock of a process that is not there: its id, else 0. */
static int event_socket_dead(const char *name)
{
    char again[PLACE_NAME_MAX];
    int pid = 0;

    for (const char *c = name; *c >= '0' && *c <= '9' && pid < 100000000; c++)
        pid = pid * 10 + (*c - '0');
    place_name(pid, again, sizeof again);
    return pid && strcmp(again, name) == 0 && sys2(SYS_kill, pid, 0) == -ESRCH ? pid : 0;
}

/* Sockets that processes of this user have left which were killed. */
static void event_socket_clean(const struct folder_file *f)
{
    char entries[1024] __attribute__((aligned(8)));
    int folder = (int)sys4(SYS_openat, f->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), tries = SOCKET_TRIES;
    struct stat st;

    for (long n; folder >= 0 && tries > 0 && (n = sys3(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
        for (long at = 0; at < n; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const char *name = ((struct dirent64 *)(entries + at))->d_name;

            if (!event_socket_dead(name) || tries-- <= 0 || folder_stat(f, name, &st) != 0 ||
                place_file_wrong(&st, (unsigned)sys0(SYS_geteuid), S_IFSOCK) || event_socket_answers(f, name))
                continue;
            sys3(SYS_unlinkat, f->folder, name, 0);
        }
    if (folder >= 0)
        sys1(SYS_close, folder);
}

/* Its folder by the rules of place.h, and its name. */
static int event_socket_folder(struct watch *w, const char **wrong)
{
    const struct settings *s = watch_of()->settings;
    unsigned uid = (unsigned)sys0(SYS_geteuid);
    char path[2048];
    size_t parent;
    int error;

    if (w->event->argument[0]) {
        error = watch_path(w, path, sizeof path);
        return error ? error : folder_open_of(&w->file, path, wrong);
    }
    for (unsigned i = 0; (error = place_folder(i, s->dir, s->runtime, uid, path, sizeof path, &parent)) == 0; i++) {
        if (parent) { /* the user's own, or another one is tried */
            struct folder_file outer;

            path[parent] = '\0';
            error = folder_open(&outer, path, false, true, wrong);
            path[parent] = '/';
            *wrong = NULL;
            if (error)
                continue;
            folder_close(&outer);
        }
        error = folder_open(&w->file, path, true, !s->dir[0], wrong);
        place_name(watch_of()->post->pid, w->file.name, sizeof w->file.name);
        if (!error)
            event_socket_clean(&w->file);
        return error;
    }
    return error;
}

/* Bound under another name and moved: whoever sees the name can connect, and a dead process's socket is replaced in one step. */
static int event_socket_bind(struct watch *w, const char **wrong)
{
    struct folder_file *f = &w->file;
    char name[PLACE_NAME_MAX + 1] = ".";
    struct sockaddr_un a;
    struct stat st;
    int s = event_socket_new();

    if (s < 0)
        return s;
    place_name(watch_of()->post->pid, name + 1, sizeof name - 1);
    long error = folder_stat(f, f->name, &st);
    if (error == 0) {
        *wrong = place_file_wrong(&st, (unsigned)sys0(SYS_geteuid), S_IFSOCK);
        if (!*wrong && event_socket_answers(f, f->name))
            *wrong = "another process listens there; with %p in a path of its own each has one";
        error = *wrong ? -EPERM : 0;
    } else if (error == -ENOENT) {
        error = 0;
    }
    if (!error) {
        size_t n = event_socket_address(&a, f->folder, name);
        sys3(SYS_unlinkat, f->folder, name, 0);
        sys2(SYS_fchmod, s, 0600); /* which the file then has from its first moment */
        error = sys3(SYS_bind, s, &a, n);
    }
    if (!error)
        error = sys2(SYS_listen, s, CONTROL_CLIENTS);
    if (!error && (error = sys4(SYS_renameat, f->folder, name, f->folder, f->name)) < 0)
        sys3(SYS_unlinkat, f->folder, name, 0);
    if (!error) {
        folder_made(f);
        return s;
    }
    sys1(SYS_close, s);
    return (int)error;
}

static void event_socket_open(struct watch *w, int64_t now, bool first)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = CONTROL_LISTENER};
    const char *wrong = NULL, *where = "its folder ";

    (void)now;
    w->due = WATCH_NEVER;
    w->socket.listener = -1;
    w->socket.full = 0;
    control_open(w, first);
    if (watch_of()->forked && w->event->argument[0] && !watch_path_is_own(w)) /* it is the parent's */
        return;
    long error = event_socket_folder(w, &wrong);
    if (!error) {
        where = "";
        error = w->socket.listener = event_socket_bind(w, &wrong);
    }
    if (error >= 0)
        error = w->fd = (int)sys1(SYS_epoll_create1, EPOLL_CLOEXEC);
    if (error >= 0)
        error = sys4(SYS_epoll_ctl, w->fd, EPOLL_CTL_ADD, w->socket.listener, &event);
    if (error >= 0)
        return;
    folder_remove(&w->file);
    if (w->socket.listener >= 0)
        sys1(SYS_close, w->socket.listener);
    watch_refuse(w, where, wrong, (int)error);
}

/* Removed whatever the reason: nobody answers there until the next worker makes it anew. */
static void event_socket_close(struct watch *w, bool ending)
{
    control_close(w, ending);
    if (w->fd >= 0)
        sys1(SYS_close, w->socket.listener);
    folder_remove(&w->file);
}

const struct watch_kind event_socket = {.open = event_socket_open,
                                        .look = control_look,
                                        .acted = control_acted,
                                        .begin = control_begin,
                                        .close = event_socket_close};
