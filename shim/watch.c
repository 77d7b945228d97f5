#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>

#include "inherit.h"
#include "notice.h"
#include "post.h"
#include "preload.h"
#include "sample.h"
#include "sys.h"
#include "text.h"

/* What wakes the worker from poll. Not SIGURG and its like: setting a signal whose default is to be ignored back to the
 * default throws away what is pending of it. Nothing uses this one; it is blocked here and sent to this thread alone. */
#define WATCH_SIGNAL SIGSTKFLT
#define WATCH_MASK_BYTES 8          /* the kernel's sigset_t */
#define WATCH_UNKICKED_NS 20000000L /* how often it looks by itself where no timer could be made */

static const struct watch_kind *const watch_kinds[EVENT_KINDS] = {
    [EVENT_EVERY] = &event_every,   [EVENT_FD] = &event_fd,
    [EVENT_FIFO] = &event_fifo,     [EVENT_IDLE] = &event_idle,
    [EVENT_PRESSURE] = &event_pressure, [EVENT_RSS] = &event_rss,
    [EVENT_SETTLE] = &event_settle, [EVENT_SOCKET] = &event_socket,
};

static struct watch watches[EVENT_MAX];
static size_t watch_count;
static int watch_kicked = -1; /* readable when somebody wants this thread; -1: not to be had */
static struct watch_host watch_host;

/* A host's thread cannot write to a descriptor of this table. So it sets a timer off, which signals this thread and no
 * other, not even one that has got its number later. */
static void watch_open_kick(struct post *p)
{
    uint64_t mask = UINT64_C(1) << (WATCH_SIGNAL - 1);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WATCH_SIGNAL};
    int id;

    event._sigev_un._tid = (int)sys0(SYS_gettid);
    watch_kicked = (int)sys4(SYS_signalfd4, -1, &mask, WATCH_MASK_BYTES, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch_kicked >= 0 && sys3(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) == 0)
        __atomic_store_n(&p->kick, id + 1, __ATOMIC_SEQ_CST);
}

const struct watch_host *watch_of(void)
{
    return &watch_host;
}

static bool watch_is_live(const struct watch *w)
{
    return w->fd >= 0 || w->due != WATCH_NEVER;
}

bool watch_any(void)
{
    for (size_t i = 0; i < watch_count; i++)
        if (watch_is_live(&watches[i]))
            return true;
    return false;
}

void watch_open(const struct watch_host *h, bool first)
{
    int64_t now = sys_clock(CLOCK_MONOTONIC);
    int files = 0;

    watch_host = *h;
    watch_count = 0;
    for (size_t i = 0; i < h->n_events; i++) {
        struct watch *w = &watches[watch_count];

        if (!watch_kinds[h->events[i].kind])
            continue;
        if (!watch_count++) {
            watch_open_kick(h->post);
            sample_open(now, first);
        }
        if (first)
            *w = (struct watch){.kind = watch_kinds[h->events[i].kind], .event = &h->events[i], .number = (unsigned)i + 1};
        w->fd = w->file.folder = -1;
        w->events = POLLIN;
        w->kind->open(w, now, first);
        files += w->file.ours;
    }
    __atomic_store_n(&h->post->files, files, __ATOMIC_SEQ_CST);
}

void watch_close(struct post *p)
{
    int id = __atomic_exchange_n(&p->kick, 0, __ATOMIC_SEQ_CST);
    bool ending = __atomic_load_n(&p->ending, __ATOMIC_SEQ_CST);

    if (id)
        sys1(SYS_timer_delete, id - 1);
    if (!watch_count)
        return;
    sample_close();
    if (watch_kicked >= 0)
        sys1(SYS_close, watch_kicked);
    watch_kicked = -1;
    for (size_t i = 0; i < watch_count; i++) {
        if (watches[i].kind->close)
            watches[i].kind->close(&watches[i], ending);
        if (watches[i].fd >= 0)
            sys1(SYS_close, watches[i].fd);
        folder_close(&watches[i].file);
    }
    watch_count = 0;
    __atomic_store_n(&p->files, 0, __ATOMIC_SEQ_CST);
    post_wake(&p->files);
}

void watch_end(struct watch *w)
{
    if (w->fd >= 0)
        sys1(SYS_close, w->fd);
    w->fd = -1;
    w->due = WATCH_NEVER;
    folder_close(&w->file);
}

void watch_fire_times(struct watch *w, size_t times)
{
    post_events(watch_host.post, w->number, (unsigned)times);
}

void watch_fire(struct watch *w)
{
    watch_fire_times(w, 1);
}

void watch_acted(const struct record *r, unsigned number)
{
    for (size_t i = 0; i < watch_count; i++)
        if (watches[i].kind->acted)
            watches[i].kind->acted(&watches[i], r, watches[i].number == number);
}

void watch_begin(struct record *r, unsigned number)
{
    for (size_t i = 0; i < watch_count; i++)
        if (watches[i].number == number && watches[i].kind->begin)
            watches[i].kind->begin(&watches[i], r);
}

void watch_say(const struct watch *w, const char *what, int error)
{
    char line[512];
    struct text t;

    text_init(&t, line, sizeof line);
    text_printable(&t, w->event->name, sizeof line / 2);
    text_str(&t, ": ");
    text_str(&t, what);
    if (error) {
        text_str(&t, ": ");
        text_errno(&t, error < 0 ? -error : error);
    }
    notice_worker(line);
}

void watch_refuse(struct watch *w, const char *where, const char *wrong, int error)
{
    char what[256];
    struct text t;

    text_init(&t, what, sizeof what);
    text_str(&t, where);
    text_str(&t, wrong ? wrong : "cannot be opened");
    watch_say(w, what, wrong ? 0 : error);
    watch_end(w);
}

int watch_path(const struct watch *w, char *path, size_t size)
{
    char pattern[2048];

    return !inherit_absolute(w->event->argument, pattern, sizeof pattern) ? -ENAMETOOLONG : preload_expand(pattern, watch_host.post->pid, watch_host.program, path, size);
}

bool watch_path_is_own(const struct watch *w)
{
    for (const char *c = w->event->argument; *c; c++)
        if (*c == '%' && *++c == 'p')
            return true;
    return false;
}

size_t watch_lines_take(struct watch *w, const char *bytes, size_t n)
{
    return line_feed(&w->lines.line, bytes, n, w->lines.label);
}

void watch_lines_begin(struct watch *w, struct record *r)
{
    if (w->lines.label[0])
        r->label = w->lines.label;
}

void watch_lines_acted(struct watch *w, const struct record *r, bool own)
{
    (void)r;
    if (own)
        w->lines.label[0] = '\0';
}

static int64_t watch_next(int64_t limit)
{
    for (size_t i = 0; i < watch_count; i++)
        if (watches[i].due < limit)
            limit = watches[i].due;
    return limit;
}

void watch_wait(struct post *p, int64_t limit)
{
    struct pollfd fds[1 + EVENT_MAX] = {{watch_kicked, POLLIN, 0}};
    struct signalfd_siginfo siginfo;
    int64_t now = sys_clock(CLOCK_MONOTONIC), next = watch_next(limit);

    if (!__atomic_load_n(&p->kick, __ATOMIC_SEQ_CST) && next - now > WATCH_UNKICKED_NS)
        next = now + WATCH_UNKICKED_NS;
    for (size_t i = 0; i < watch_count; i++)
        fds[i + 1] = (struct pollfd){watches[i].fd, watches[i].events, 0};
    int64_t left = next > now ? next - now : 0;
    struct timespec timeout = {left / 1000000000, left % 1000000000};
    long ready = sys5(SYS_ppoll, fds, watch_count + 1, next == WATCH_NEVER ? NULL : &timeout, NULL, 0);
    while (ready > 0 && fds[0].revents && sys3(SYS_read, watch_kicked, &siginfo, sizeof siginfo) > 0)
        ;
    now = sys_clock(CLOCK_MONOTONIC);
    for (size_t i = 0; i < watch_count; i++) {
        short revents = ready > 0 ? fds[i + 1].revents : 0;

        if (watch_is_live(&watches[i]) && (revents || watches[i].due <= now))
            watches[i].kind->look(&watches[i], now, revents);
    }
}
