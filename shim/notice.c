#include "notice.h"

#include <errno.h>
#include <signal.h>

#include "options.h"
#include "post.h"
#include "sink.h"
#include "sys.h"
#include "text.h"

static int notice_signal;
static bool notice_json;
static unsigned notice_said; /* bits; a forked child does not say again what its parent said */

static const char *const notice_text[NOTICE_COUNT] = {
    [NOTICE_SIGNAL_OWNED] = " belongs to the program, which has set its own action for it: stepped aside; "
                            "name a free one for releases, e.g. GIVEBACK_SIGNAL=RTMIN+5",
    [NOTICE_RESTRICTED] = " came, but the program has restricted itself (seccomp, landlock) since it started: "
                          "no thread is made for a release any more",
    [NOTICE_NO_THREAD] = " came, but no thread could be started for the release",
    [NOTICE_NO_THREADS_LIB] = " came, but no thread can be started for the release: this glibc keeps threads in a library of "
                              "its own, add libpthread.so.0 to LD_PRELOAD",
    [NOTICE_NO_PROOF] = " came, but no thread of the program stood at a point where the release could be started; "
                        "send it again later",
    [NOTICE_FOREIGN_THREAD] = " came, but this process was made by a raw clone, in which libc can start no thread",
    [NOTICE_UNWATCHED] = " is not watched for: no thread could be started for it",
    [NOTICE_LATE] = " is not taken: the library was loaded by dlopen, and does nothing unless it is in LD_PRELOAD",
};

void notice_start(const struct settings *s)
{
    notice_signal = s->signal;
    notice_json = s->json;
}

enum notice_place { NOTICE_HOST, NOTICE_IN_RESTRICTED, NOTICE_WORKER };

/* One line in the format of the log: a program that reads JSON Lines gets an object. */
__attribute__((noinline)) static void notice_write(const char *what, enum notice_place place)
{
    char line[1024];
    struct text t;

    text_init(&t, line, sizeof line);
    text_str(&t, notice_json ? "{\"v\":1,\"pid\":" : "giveback[");
    text_u64(&t, (uint64_t)sys0(SYS_getpid));
    text_str(&t, notice_json ? ",\"notice\":" : "]: ");
    if (notice_json)
        text_json(&t, what, sizeof line - 64);
    else
        text_str(&t, what);
    text_str(&t, notice_json ? "}\n" : "\n");
    if (t.cut)
        return;
    if (place == NOTICE_IN_RESTRICTED)
        sink_write_restricted(line, t.len);
    else
        sink_write(line, t.len, place == NOTICE_WORKER);
}

/* What came: a signal's name, or an event's. */
static void notice_once(const char *kind, const char *name, enum notice what, int error)
{
    unsigned bit = 1u << what;
    char line[320];
    struct text t;

    if (__atomic_fetch_or(&notice_said, bit, __ATOMIC_SEQ_CST) & bit)
        return;
    text_init(&t, line, sizeof line);
    text_str(&t, kind);
    text_str(&t, name);
    text_str(&t, notice_text[what]);
    if (error) {
        text_str(&t, ": ");
        text_errno(&t, error);
    }
    notice_write(line, what == NOTICE_RESTRICTED ? NOTICE_IN_RESTRICTED : NOTICE_HOST);
}

void notice_say(enum notice what, int error)
{
    char name[16];

    notice_once("SIG", options_signal_name(notice_signal, name, sizeof name), what, error);
}

void notice_say_event(enum notice what, int error)
{
    notice_once("an event of ", "GIVEBACK_ON", what, error);
}

void notice_say_call(enum notice what, int error)
{
    notice_once("a call of ", "giveback.h", what, error);
}

void notice_complain(void *unused, const char *line)
{
    (void)unused;
    notice_write(line, NOTICE_HOST);
}

void notice_worker(const char *line)
{
    notice_write(line, NOTICE_WORKER);
}
