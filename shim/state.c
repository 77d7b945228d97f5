#include "state.h"

#include <errno.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "code.h"
#include "glob.h"
#include "hook.h"
#include "hook_python.h"
#include "inherit.h"
#include "mapping.h"
#include "marker.h"
#include "metrics_write.h"
#include "notice.h"
#include "options.h"
#include "policy.h"
#include "post.h"
#include "preload.h"
#include "real.h"
#include "record_write.h"
#include "release.h"
#include "resume.h"
#include "signal.h"
#include "sink.h"
#include "sys.h"
#include "text.h"
#include "watch.h"
#include "worker.h"

static struct settings state_settings;
static struct event state_events[EVENT_MAX];
static char state_program[64]; /* a copy: setproctitle overwrites argv, whose memory libc's own short name points into */
static long state_seccomp;     /* the mode at our start: containers have one from the beginning, with which we live */
static long state_privileges;  /* no_new_privs, likewise */

/* Where a filter was there from the start, a further one does not change the mode, and nothing tells of landlock. But an
 * unprivileged process needs no_new_privs for either, and sets it just before. */
bool state_restricted(void)
{
    return sys1(SYS_prctl, PR_GET_SECCOMP) != state_seccomp ||
           sys5(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != state_privileges;
}

static const char *state_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The program's name as it was called, or that of its executable: a script's interpreter goes by either. */
static bool state_named(const char *patterns)
{
    char path[1024];
    long n = sys4(SYS_readlinkat, -100 /* AT_FDCWD */, "/proc/self/exe", path, sizeof path - 1);

    path[n > 0 ? n : 0] = 0;
    return glob_match_list(patterns, state_program) || (n > 0 && glob_match_list(patterns, state_base(path)));
}

/* Take our own entry, and only it, out of the LD_PRELOAD that children inherit. In place: no malloc, and whoever has
 * kept a pointer to the string sees the same. An empty one would be harmless, but is not what stood there before. */
static void state_drop(char **environment)
{
    const struct link_map *own = real_own();

    for (char **e = environment; own && e && *e; e++) {
        char *value = *e + sizeof "LD_PRELOAD=" - 1;

        if (strncmp(*e, "LD_PRELOAD=", sizeof "LD_PRELOAD=" - 1) != 0 || !preload_drop(value, own->l_name) || *value)
            continue;
        for (char **to = e; (*to = to[1]); to++)
            ;
        e--;
    }
}

/* Complaints go where the log goes, which is known only when everything has been read once. */
static void state_not_yet(void *complained, const char *line)
{
    (void)line;
    *(bool *)complained = true;
}

/* Something is to be looked at: in the process that starts and in its forked children. */
static void state_watch(void)
{
    struct post *p = post_own();

    if (p)
        signal_want_worker(p);
}

/* The events of GIVEBACK_ON, but those that the environment says are not wanted; how many. */
static size_t state_read_events(char *const *environment)
{
    size_t n = options_events(state_events, EVENT_MAX, environment), kept = 0;

    for (size_t i = 0; i < n; i++)
        if (state_events[i].kind != EVENT_PRESSURE || event_pressure_start(environment))
            state_events[kept++] = state_events[i];
    return kept;
}

/* glibc hands a constructor what main gets. */
__attribute__((constructor)) static void state_start(int argc, char **argv, char **environment)
{
    int saved = errno;
    bool complained = false;
    struct text name;
    size_t n;

    if (getauxval(AT_SECURE) || options_off(environment))
        return;
    text_init(&name, state_program, sizeof state_program);
    text_str(&name, argc > 0 ? state_base(argv[0]) : "?");
    options_read(&state_settings, environment, state_not_yet, &complained);
    if (!state_settings.on || (state_settings.only[0] && !state_named(state_settings.only)) ||
        (state_settings.skip[0] && state_named(state_settings.skip)))
        return;
    sink_start(&state_settings, state_program);
    notice_start(&state_settings);
    if (!real_in_front()) {
        notice_say(NOTICE_LATE, 0);
        return;
    }
    if (complained)
        options_read(&state_settings, environment, notice_complain, NULL);
    post_start();
    code_start();
    resume_start();
    state_seccomp = sys1(SYS_prctl, PR_GET_SECCOMP);
    state_privileges = sys5(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    record_write_start(&state_settings);
    metrics_write_start(&state_settings, state_program);
    release_configure(&state_settings);
    policy_configure(&state_settings);
    n = state_read_events(environment);
    inherit_start(state_events, n);
    worker_start(&state_settings, state_events, n, state_program);
    if (state_settings.drop_children)
        state_drop(environment);
    signal_start(state_settings.signal);
    marker_start(state_events, n);
    mapping_start(state_events, n);
    hook_start(state_events, n);
    hook_python_start(state_events, n);
    for (size_t i = 0; i < n; i++)
        if (event_table[state_events[i].kind].polled) {
            pthread_atfork(NULL, NULL, state_watch);
            state_watch();
            break;
        }
    errno = saved;
}
