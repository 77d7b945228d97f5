#include "control.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "json.h"
#include "policy.h"
#include "sys.h"

#define CONTROL_DROP_NS INT64_C(10000000000) /* of a client that does not take its answer, or is idle where others wait */
#define CONTROL_FULL_NS INT64_C(1000000000)  /* until it is tried again to take a connection, where the table was full */
#define CONTROL_REQUESTS 32                  /* of one client in a row */

enum control_state { CONTROL_FREE, CONTROL_READS, CONTROL_WAITS /* for a record */ };

static struct control_client {
    enum control_state state;
    struct watch *watch;
    int fd;
    enum record_action wanted; /* while it waits */
    bool eof;                  /* nothing more comes from it */
    bool last;                 /* it is closed when it has its answer */
    bool again;                /* there is more in its buffer that can be answered at once */
    uint32_t events;           /* what epoll looks for */
    int64_t since;             /* when it last took or said something */
    size_t in_n, out_n, out_at;
    char in[CONTROL_LINE], out[CONTROL_ANSWER];
} control_clients[CONTROL_CLIENTS];
static char control_last[RECORD_MAX]; /* the last record */

static void control_drop(struct control_client *c)
{
    sys1(SYS_close, c->fd);
    c->state = CONTROL_FREE;
}

/* What the client has not taken yet goes to it as far as it goes. false: it is gone. */
static bool control_flush(struct control_client *c, int64_t now)
{
    while (c->out_at < c->out_n) {
        long n = sys6(SYS_sendto, c->fd, (long)(c->out + c->out_at), (long)(c->out_n - c->out_at), MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);

        if (n == -EAGAIN)
            return true;
        if (n <= 0)
            return false;
        c->out_at += (size_t)n;
        c->since = now;
    }
    c->out_at = c->out_n = 0;
    return !c->last;
}

static void control_error(struct control_client *c, const char *text)
{
    struct text t;

    text_init(&t, c->out, sizeof c->out);
    text_char(&t, '{');
    json_add_string(&t, "error", text, 256);
    text_str(&t, "}\n");
    c->out_n = t.len;
}

static void control_ask(struct control_client *c, enum record_action action, const char *label)
{
    struct watch_commands *commands = &c->watch->socket.commands;

    c->state = CONTROL_WAITS;
    c->wanted = action;
    commands->wanted[action]++;
    if (label[0])
        memcpy(commands->label[action], label, EVENT_LABEL_MAX);
    watch_fire(c->watch);
}

static void control_pause(struct control_client *c, bool paused)
{
    struct text t;

    policy_pause(paused);
    text_init(&t, c->out, sizeof c->out);
    text_char(&t, '{');
    json_add_bool(&t, "ok", true);
    json_add_bool(&t, "paused", paused);
    text_str(&t, "}\n");
    c->out_n = t.len;
}

static void control_tell(struct control_client *c)
{
    struct text t;

    text_init(&t, c->out, sizeof c->out);
    control_status(&t, control_last);
    c->out_n = t.len;
}

/* One line, without its end. */
static void control_request(struct control_client *c, const char *line, size_t n)
{
    static const char *const words[] = {"release", "mark", "pause", "resume", "status"};
    char word[16], label[EVENT_LABEL_MAX] = "";
    struct json_field fields[] = {{"do", word, sizeof word, JSON_ABSENT}, {"label", label, sizeof label, JSON_ABSENT}};
    int error = json_read(line, n, fields, 2);
    size_t which = 0;

    if (error == -EINVAL) {
        control_error(c, "expected one JSON object a line, like {\"do\":\"release\"}");
        return;
    }
    while (which < sizeof words / sizeof *words && strcmp(words[which], word) != 0)
        which++;
    if (fields[1].kind == JSON_OTHER || (error && which < sizeof words / sizeof *words)) {
        control_error(c, "\"label\": expected a string of at most 63 bytes");
        return;
    }
    switch (which) {
    case 0: control_ask(c, RECORD_RELEASE, label); break;
    case 1: control_ask(c, RECORD_MARK, label); break;
    case 2:
    case 3: control_pause(c, which == 2); break;
    case 4: control_tell(c); break;
    default: control_error(c, "\"do\": expected \"release\", \"mark\", \"pause\", \"resume\" or \"status\"");
    }
}

/* Takes the next line out of what has come. false: there is none yet. */
static bool control_line(struct control_client *c)
{
    char *end = memchr(c->in, '\n', c->in_n);
    size_t n = end ? (size_t)(end - c->in) : c->in_n, blank = 0;

    if (!end && c->in_n == sizeof c->in) {
        control_error(c, "a request is longer than 4096 bytes");
        c->last = true;
        return true;
    }
    if (!end && !(c->eof && c->in_n)) /* the last line may lack its end */
        return false;
    while (blank < n && memchr(" \t\r", c->in[blank], 3))
        blank++;
    if (blank < n)
        control_request(c, c->in, n);
    n += end != NULL;
    memmove(c->in, c->in + n, c->in_n - n);
    c->in_n -= n;
    return true;
}

/* More from it: false when it is gone or nothing more is there now. */
static bool control_receive(struct control_client *c, int64_t now, bool *gone)
{
    long n = sys6(SYS_recvfrom, c->fd, (long)(c->in + c->in_n), (long)(sizeof c->in - c->in_n), MSG_DONTWAIT, 0, 0);

    *gone = n < 0 && n != -EAGAIN && n != -EINTR;
    c->eof |= n == 0;
    if (n <= 0)
        return n == 0 && c->in_n;
    c->in_n += (size_t)n;
    c->since = now;
    return true;
}

static void control_listen(struct control_client *c)
{
    struct epoll_event event = {.data.u64 = (uint64_t)(c - control_clients) + 1};

    if (c->out_at < c->out_n)
        event.events = EPOLLOUT;
    else if (c->state == CONTROL_READS)
        event.events = EPOLLIN;
    if (event.events != c->events)
        sys4(SYS_epoll_ctl, c->watch->fd, EPOLL_CTL_MOD, c->fd, &event);
    c->events = event.events;
}

/* As many requests of this client as can be answered now, one after the other. What stays in the buffer is gone on with when the
 * answer has been taken or the record is there, or else (`again`) soon: others have their turn. */
static void control_serve(struct control_client *c, int64_t now)
{
    bool gone = false, more = true;

    for (int i = 0; more && i < CONTROL_REQUESTS; i++) {
        if (!control_flush(c, now)) {
            control_drop(c);
            return;
        }
        if (c->out_n || c->state == CONTROL_WAITS)
            break;
        more = control_line(c) || (!c->eof && control_receive(c, now, &gone));
        if (gone || (!more && c->eof)) {
            control_drop(c);
            return;
        }
    }
    control_listen(c);
    c->again = more && !c->out_n && c->state == CONTROL_READS;
}

/* Root and whoever the process runs as now; its user may have changed since it started. */
static bool control_is_allowed(int fd)
{
    struct ucred peer;
    unsigned n = sizeof peer;

    return sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
           (peer.uid == 0 || (long)peer.uid == sys0(SYS_geteuid));
}

/* A free place, or that of the client that has been idle for longest, if that is long. */
static struct control_client *control_place(int64_t now)
{
    struct control_client *idle = NULL;

    for (struct control_client *c = control_clients; c < control_clients + CONTROL_CLIENTS; c++) {
        if (c->state == CONTROL_FREE)
            return c;
        if (c->state == CONTROL_READS && now - c->since > CONTROL_DROP_NS && (!idle || c->since < idle->since))
            idle = c;
    }
    if (idle)
        control_drop(idle);
    return idle;
}

static void control_refuse(int fd, const char *line)
{
    sys6(SYS_sendto, fd, (long)line, (long)strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
    sys1(SYS_close, fd);
}

/* A connection that cannot be taken (EMFILE, ENOMEM) would be announced for ever. */
static void control_listen_for_more(struct watch *w, int64_t full)
{
    struct epoll_event event = {.events = full ? 0 : EPOLLIN, .data.u64 = CONTROL_LISTENER};

    w->socket.full = full;
    sys4(SYS_epoll_ctl, w->fd, EPOLL_CTL_MOD, w->socket.listener, &event);
}

static void control_accept(struct watch *w, int64_t now)
{
    struct epoll_event event = {.events = EPOLLIN};
    struct control_client *c;
    int fd = (int)sys4(SYS_accept4, w->socket.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) {
        if (fd != -EAGAIN && fd != -EINTR && fd != -ECONNABORTED)
            control_listen_for_more(w, now + CONTROL_FULL_NS);
        return;
    }
    if (!control_is_allowed(fd)) {
        control_refuse(fd, "{\"error\":\"only root and the user that the process runs as are served\"}\n");
        return;
    }
    c = control_place(now);
    if (!c) {
        control_refuse(fd, "{\"error\":\"8 clients are connected already; try again later\"}\n");
        return;
    }
    /* Its buffers stay as they are: pages that no client has used do not exist. */
    c->state = CONTROL_READS;
    c->watch = w;
    c->fd = fd;
    c->eof = c->last = c->again = false;
    c->events = event.events;
    c->since = now;
    c->in_n = c->out_n = c->out_at = 0;
    event.data.u64 = (uint64_t)(c - control_clients) + 1;
    if (sys4(SYS_epoll_ctl, w->fd, EPOLL_CTL_ADD, fd, &event) < 0)
        control_drop(c);
}

/* Whoever does not take his answer is dropped in time. When to look again. */
static int64_t control_due(const struct watch *w, int64_t now)
{
    int64_t due = w->socket.full ? w->socket.full : WATCH_NEVER;

    for (struct control_client *c = control_clients; c < control_clients + CONTROL_CLIENTS; c++) {
        if (c->state == CONTROL_FREE || c->watch != w)
            continue;
        if (c->again)
            due = now;
        if (!c->out_n)
            continue;
        if (now - c->since >= CONTROL_DROP_NS)
            control_drop(c);
        else if (c->since + CONTROL_DROP_NS < due)
            due = c->since + CONTROL_DROP_NS;
    }
    return due;
}

void control_look(struct watch *w, int64_t now, short ready)
{
    struct epoll_event events[1 + CONTROL_CLIENTS];
    long n = sys6(SYS_epoll_pwait, w->fd, (long)events, 1 + CONTROL_CLIENTS, 0, 0, 8);

    (void)ready;
    if (w->socket.full && now >= w->socket.full)
        control_listen_for_more(w, 0);
    for (long i = 0; i < n; i++) {
        struct control_client *c = &control_clients[events[i].data.u64 - 1];

        if (events[i].data.u64 == CONTROL_LISTENER)
            control_accept(w, now);
        else if (c->state == CONTROL_WAITS) /* only its end can come while it waits */
            control_drop(c);
        else if (c->state == CONTROL_READS)
            control_serve(c, now);
    }
    for (struct control_client *c = control_clients; c < control_clients + CONTROL_CLIENTS; c++)
        if (c->state == CONTROL_READS && c->watch == w && c->again)
            control_serve(c, now);
    w->due = control_due(w, now);
}

void control_begin(struct watch *w, struct record *r)
{
    struct watch_commands *c = &w->socket.commands;

    r->action = c->wanted[RECORD_RELEASE] || !c->wanted[RECORD_MARK] ? RECORD_RELEASE : RECORD_MARK;
    r->merged = c->wanted[r->action] ? c->wanted[r->action] - 1 : 0;
    if (c->label[r->action][0])
        r->label = c->label[r->action];
}

void control_acted(struct watch *w, const struct record *r, bool own)
{
    struct watch_commands *commands = &w->socket.commands;
    size_t n = record_json(r, control_last, sizeof control_last);
    int64_t now = sys_clock(CLOCK_MONOTONIC);

    if (n)
        control_last[n - 1] = '\0';
    if (!own)
        return;
    commands->wanted[r->action] = 0;
    commands->label[r->action][0] = '\0';
    for (enum record_action other = 0; other < RECORD_ACTIONS; other++)
        if (commands->wanted[other])
            watch_fire(w);
    for (struct control_client *c = control_clients; c < control_clients + CONTROL_CLIENTS; c++) {
        if (c->state != CONTROL_WAITS || c->watch != w || c->wanted != r->action)
            continue;
        c->state = CONTROL_READS;
        memcpy(c->out, control_last, n ? n - 1 : 0);
        c->out_n = n;
        c->out[n ? n - 1 : 0] = '\n';
        c->since = now;
        control_serve(c, now);
    }
    w->due = control_due(w, now);
}

/* What stands here may be the parent's. */
void control_open(struct watch *w, bool first)
{
    for (struct control_client *c = control_clients; c < control_clients + CONTROL_CLIENTS; c++)
        if (first || c->watch == w)
            c->state = CONTROL_FREE;
    if (first)
        control_last[0] = '\0';
}

void control_close(struct watch *w, bool ending)
{
    for (struct control_client *c = control_clients; c < control_clients + CONTROL_CLIENTS; c++) {
        if (c->state == CONTROL_FREE || c->watch != w)
            continue;
        if (c->state == CONTROL_WAITS)
            control_error(c, ending ? "the program is ending" : "the program needed to be without this thread; ask again");
        c->state = CONTROL_READS;
        (void)control_flush(c, 0);
        control_drop(c);
    }
}
