#include "entry.h"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "elfsym.h"
#include "hook_call.h"
#include "notice.h"
#include "object.h"
#include "patch.h"
#include "real.h"
#include "sys.h"
#include "text.h"

/* `name`: the first of `n` that cannot be replaced; NULL: nothing was tried. */
static void entry_say(const char *events, const char *name, size_t n, const char *why)
{
    char line[300];
    struct text t;

    text_init(&t, line, sizeof line);
    text_str(&t, "GIVEBACK_ON: ");
    text_str(&t, events);
    text_str(&t, " will miss what the program does");
    if (name) {
        text_str(&t, " by ");
        text_str(&t, name);
        text_str(&t, "()");
    }
    if (n > 1) {
        text_str(&t, " and ");
        text_u64(&t, n - 1);
        text_str(&t, " more");
    }
    text_str(&t, ": ");
    text_str(&t, why);
    notice_complain(NULL, line);
}

/* libc, or else its library of threads where that is one. ld.so has mapped its headers with its first segment. */
static bool entry_object(struct object *o, bool threads)
{
    for (const struct link_map *map = real_objects(); map; map = map->l_next) {
        const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)map->l_addr;

        if (!map->l_prev || !file || elfsym_read(&o->symbols, map->l_addr, map->l_ld) != 0 ||
            memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
            (threads ? !o->symbols.soname || strcmp(o->symbols.soname, "libpthread.so.0") != 0
                     : !elfsym_find(&o->symbols, "gnu_get_libc_version")))
            continue;
        o->bias = map->l_addr;
        o->segments = (const ElfW(Phdr) *)(map->l_addr + file->e_phoff);
        o->n_segments = file->e_phnum;
        return true;
    }
    return false;
}

static const char *entry_patch(int mem, const struct object *o, const struct entry *e, bool threads)
{
    const ElfW(Sym) *s = elfsym_find(&o->symbols, e->name);
    struct hook h = {.instead = e->instead};
    uintptr_t low, high;
    const char *why;

    /* What libpthread has under one of these names does what libc's does, or calls it: that is what is called. */
    if (!s || (threads && !*e->original))
        return NULL;
    h.at = o->bias + s->st_value;
    if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || !object_is_code(o, h.at, s->st_size))
        return "it does not lie in libc's code";
    object_extent(o, &low, &high);
    why = patch_function(mem, &h, s->st_size, low, high);
    if (!why && !threads)
        *e->original = h.original;
    return why;
}

/* As the folder of its threads says by its number of links; a folder that cannot be read counts as that of one. */
static bool entry_is_alone(void)
{
    struct stat tasks;

    return sys4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) != 0 || tasks.st_nlink <= 3;
}

void entry_replace(const struct entry *entries, size_t n, const char *events)
{
    uint64_t all = ~UINT64_C(0), before; /* the kernel's sigset_t */
    const char *name = NULL, *why = NULL;
    size_t refused = 0;
    struct object o;
    int mem;

    if (!entry_is_alone()) {
        entry_say(events, NULL, 0, "another library has started a thread already, which may be running the code that was to be replaced");
        return;
    }
    /* A handler that another library's constructor has installed may write, and meet what is not yet whole. */
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    mem = patch_open();
    for (unsigned threads = 0; threads < 2 && entry_object(&o, threads); threads++)
        for (size_t i = 0; i < n; i++) {
            const char *not = entry_patch(mem, &o, &entries[i], threads);
            if (not && !refused++) {
                name = entries[i].name;
                why = not;
            }
        }
    if (mem >= 0)
        sys1(SYS_close, mem);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof all);
    if (refused)
        entry_say(events, name, refused, why);
}
