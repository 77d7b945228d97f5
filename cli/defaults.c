/* defaults: see defaults.h. */
#include "defaults.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "options.h"
#include "pressure.h"

/* Opened as the library will: kernels that ask for a right refuse here. No trigger is tried: one that is closed again waits for all CPUs
 * (here 13 ms, of 3 for the whole start). */
static bool may_watch(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool own_cgroup_watched(void)
{
    char text[4096], cgroup[1024], path[2048], *line = NULL;
    size_t size = 0;
    ssize_t n;
    bool watched = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    size_t got = f ? fread(text, 1, sizeof text, f) : 0;

    if (f)
        (void)fclose(f);
    if (pressure_cgroup(text, got, cgroup, sizeof cgroup) != 0 || !(f = fopen("/proc/self/mountinfo", "re")))
        return false;
    while (!watched && (n = getline(&line, &size, f)) > 0)
        watched = pressure_file(line, (size_t)n - (line[n - 1] == '\n'), cgroup, path, sizeof path) == 0 && may_watch(path);
    free(line);
    (void)fclose(f);
    return watched;
}

/* Where a service manager says what to watch it is for the library to say what is wrong with that. */
static bool pressure_watched(void)
{
    const char *asked = getenv("MEMORY_PRESSURE_WATCH");
    return (asked && *asked) || own_cgroup_watched() || may_watch("/proc/pressure/memory");
}

/* Does the library take all of it? Then *kinds gets a bit for each kind of event in it. */
static bool kinds_read(const char *events, unsigned *kinds)
{
    static struct event read[EVENT_MAX];
    static struct settings checked;
    char line[OPTION_VALUE_MAX];
    struct text complaint;

    text_init(&complaint, line, sizeof line);
    if (options_set(&checked, OPTION_ON, events, &complaint) != 0)
        return false;
    size_t n = event_read(read, EVENT_MAX, events, &complaint);
    for (*kinds = 0; n--;)
        *kinds |= 1u << read[n].kind;
    return true;
}

char *defaults_add(const char *events)
{
    static const enum event_kind kinds[] = {EVENT_SOCKET, EVENT_SETTLE, EVENT_PRESSURE}; /* DEFAULT_EVENTS */
    char *all = strdup(events ? events : "");
    unsigned named = 0;

    for (size_t i = 0; all && kinds_read(all, &named) && i < sizeof kinds / sizeof *kinds; i++) {
        char *more = NULL;
        if (named >> kinds[i] & 1 || (kinds[i] == EVENT_PRESSURE && !pressure_watched()))
            continue;
        if (asprintf(&more, "%s%s%s", all, *all ? ";" : "", event_table[kinds[i]].name) < 0)
            more = NULL;
        if (more && !kinds_read(more, &named)) {
            free(more);
            continue;
        }
        free(all);
        all = more;
    }
    return all;
}
