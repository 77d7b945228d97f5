#include "hook.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "ehframe.h"
#include "glob.h"
#include "hook_call.h"
#include "hook_find.h"
#include "hook_refuse.h"
#include "hookable.h"
#include "notice.h"
#include "object.h"
#include "parent.h"
#include "patch.h"
#include "post.h"
#include "real.h"
#include "sys.h"
#include "text.h"

enum {
    HOOK_MAX = 8192,
    HOOK_SEEN = 2048, /* further objects are not searched; a large PyTorch process has about 300 */
    HOOK_NEAR = 4096,    /* between neighbours */
    HOOK_HEADERS = 4096, /* of a file, which are in its first page that is mapped */
    HOOK_SAID = 8     /* refusals of one event that are named; the others are counted */
};

struct hook_event {
    bool native;
    struct event_native target;
    bool hooked;
    unsigned refused;
    bool object_seen; /* some object's name matched, */
    bool libc_seen;   /* or that of libc, which every process has */
};

static struct {
    const struct event *events;
    size_t n_events;
    struct hook_event event[EVENT_MAX];
    struct hook *hook; /* HOOK_MAX of them, of which only the pages that are used exist */
    size_t n_hooks;
    struct { uint64_t identity; bool there; } seen[HOOK_SEEN];
    size_t n_seen;
    struct object object; /* the one that is being looked at */
    struct hook_refused refused; /* of that object */
    int mem;
    bool inherited; /* the parent has the same events, and says what it misses */
    bool started; /* objects that come now are not relocated yet */
    long pid;
} hooks;

/* GIVEBACK_ON: exit:lib*:f: f of libfoo.so is not hooked: it is too short */
static void hook_say(size_t event, const char *name, const char *object, const char *why)
{
    char line[900];
    struct text t;

    text_init(&t, line, sizeof line);
    text_str(&t, "GIVEBACK_ON: ");
    text_printable(&t, hooks.events[event].name, sizeof hooks.events->name);
    text_str(&t, ": ");
    if (name) {
        text_printable(&t, name, 250);
        text_str(&t, " of ");
        text_printable(&t, object, OBJECT_NAME_MAX);
        text_str(&t, " is not hooked: ");
    }
    text_str(&t, why);
    notice_complain(NULL, line);
}

static void hook_refuse(size_t event, const char *name, const char *why)
{
    if (hooks.event[event].refused++ < HOOK_SAID)
        hook_say(event, name, hooks.object.name, why);
}

/* As hookable.h wants to see the object that is being looked at. */
static struct hookable_object hook_hookable(void)
{
    const struct object *o = &hooks.object;
    const struct link_map *own = real_own();
    unsigned long vdso = getauxval(AT_SYSINFO_EHDR);
    struct hookable_object h = {
        .own = own && o->bias == own->l_addr,
        .vdso = vdso && o->bias == vdso,
        .linker = o->has_symbols && elfsym_find(&o->symbols, HOOKABLE_LINKER),
        .segments = o->segments,
        .n_segments = o->n_segments,
    };

    for (size_t k = 0; k < o->n_segments; k++)
        if (o->segments[k].p_type == PT_DYNAMIC) {
            h.dynamic = (const ElfW(Dyn) *)(o->bias + o->segments[k].p_vaddr);
            h.n_dynamic = o->segments[k].p_memsz / sizeof *h.dynamic;
        }
    return h;
}

/* The hook of an address, or a free one, whose `object` is still 0; NULL: there are too many. */
static struct hook *hook_of(uintptr_t at)
{
    struct hook *unused = NULL;

    for (size_t i = 0; i < hooks.n_hooks; i++) {
        if (hooks.hook[i].object && hooks.hook[i].at == at)
            return &hooks.hook[i];
        if (!hooks.hook[i].object)
            unused = &hooks.hook[i];
    }
    if (!unused && hooks.n_hooks < HOOK_MAX)
        unused = &hooks.hook[hooks.n_hooks++];
    return unused;
}

/* What an IFUNC's resolver chose; its own size is that of the resolver, so the function's is looked for by its address: in the
 * unwind table, which stripping leaves, or else in the symbol tables. */
struct hook_chosen {
    uintptr_t at;
    size_t size;
};

static void hook_size(void *context, const struct hook_found *f)
{
    struct hook_chosen *c = context;

    if (f->type == STT_FUNC && f->at == c->at)
        c->size = f->size;
}

static size_t hook_size_by_unwind_table(const struct object *o, uintptr_t at)
{
    struct ehframe e = {.header = 0};

    for (size_t k = 0; k < o->n_segments; k++)
        if (o->segments[k].p_type == PT_GNU_EH_FRAME)
            e.header = o->bias + o->segments[k].p_vaddr;
    for (size_t k = 0; e.header && k < o->n_segments; k++) {
        const ElfW(Phdr) *p = &o->segments[k];
        if (p->p_type == PT_LOAD && p->p_flags & PF_R && e.header - o->bias - p->p_vaddr < p->p_filesz) {
            e.at = o->bias + p->p_vaddr;
            e.memory = (const unsigned char *)e.at;
            e.size = p->p_filesz;
        }
    }
    return e.memory ? ehframe_size(&e, at) : 0;
}

static const char *hook_resolve(struct hook_found *f)
{
    /* What ld.so gives to a resolver on aarch64 (sys/ifunc.h: bit 62 says that there is a second argument); elsewhere it is nothing. */
    unsigned long hwcap = getauxval(AT_HWCAP), known[3] = {sizeof known, hwcap, getauxval(AT_HWCAP2)};
    struct hook_chosen c;

    if (hooks.started)
        return "it is chosen at run time (IFUNC) in an object that is not yet relocated";
    c.at = (uintptr_t)((void *(*)(unsigned long, const unsigned long *))f->at)(hwcap | 1UL << 62, known);
    c.size = hook_size_by_unwind_table(&hooks.object, c.at);
    if (!c.size)
        hook_find(&hooks.object, "*", hook_size, &c);
    f->at = c.at;
    f->size = c.size;
    return c.size ? NULL : "it is chosen at run time (IFUNC), and how long the chosen one is stands in no table";
}

/* Also where the branch of a neighbour cannot be seen any more, since that is hooked already: it stands in a trampoline now. */
static const char *hook_why_not_code(const struct hookable_object *object, const struct hook_found *f, const char **not_far)
{
    uintptr_t bias = hooks.object.bias;
    const ElfW(Phdr) *segment = hookable_segment(object, f->at - bias, f->size);
    struct hookable_range range = {0};
    const char *why = hookable_code(segment, (const void *)(bias + segment->p_vaddr), f->at - bias, f->size, &range);

    *not_far = range.not_far;
    range.from += bias;
    range.end += bias;
    for (size_t i = 0; !why && i < hooks.n_hooks; i++) {
        const struct hook *h = &hooks.hook[i];
        uintptr_t apart = h->at > f->at ? h->at - f->at : f->at - h->at;
        if (h->object && apart < HOOK_NEAR && hookable_enters(h->original, &range))
            why = "something else seems to branch into its first bytes";
    }
    return why;
}

static const char *hook_install(size_t event, struct hook_found *f)
{
    struct hookable_object object = hook_hookable();
    uintptr_t low, high;
    const char *why;
    struct hook *h;

    why = hookable_type(f->type);
    if (!why)
        why = hookable_object(&object);
    if (!why && f->type == STT_GNU_IFUNC)
        why = hook_resolve(f);
    if (!why)
        why = hookable_place(&object, f->at - hooks.object.bias, f->size);
    if (!why)
        why = hook_refused_at(&hooks.refused, f->at); /* what an IFUNC has chosen */
    if (why)
        return why;
    h = hook_of(f->at);
    if (!h)
        return "there are too many hooked functions";
    if (!h->object) {
        why = hook_why_not_code(&object, f, &h->not_far);
        if (why)
            return why;
        object_extent(&hooks.object, &low, &high);
        h->at = f->at;
        h->events = 0;
        h->stack = 0;
        why = patch_function(hooks.mem, h, f->size, low, high);
        if (why)
            return why;
        h->object = hooks.object.identity;
    }
    h->events |= 1U << event;
    if (h->stack < hooks.event[event].target.stack)
        h->stack = hooks.event[event].target.stack;
    hooks.event[event].hooked = true;
    return NULL;
}

static void hook_match(void *context, const struct hook_found *f)
{
    size_t event = *(size_t *)context;
    bool named = !hook_is_pattern(hooks.event[event].target.symbol);
    const char *why = hookable_name(f->name, hooks.refused.libc);
    struct hook_found found = *f;

    if (!why)
        why = hook_refused_at(&hooks.refused, f->at);
    if (!named && (f->type == STT_OBJECT || why))
        return; /* a pattern means what it can mean */
    if (!why)
        why = hook_install(event, &found);
    if (why)
        hook_refuse(event, f->name, why);
}

/* By the name that ld.so was given, or by its own (a library that is opened by another path is meant as well). */
static bool hook_is_object(const struct hook_event *e)
{
    const struct object *o = &hooks.object;

    return !e->target.object[0] || glob_match(e->target.object, o->name) ||
           (o->has_symbols && o->symbols.soname && glob_match(e->target.object, o->symbols.soname));
}

static void hook_object(void)
{
    struct hookable_object object = hook_hookable();

    for (size_t event = 0; event < hooks.n_events; event++) {
        struct hook_event *e = &hooks.event[event];

        if (!e->native || !hook_is_object(e))
            continue;
        /* Without a name of an object everything is looked at, but not what is never hooked in any case. */
        if (!e->target.object[0] && hookable_object(&object))
            continue;
        e->object_seen = true;
        e->libc_seen |= hooks.refused.libc || !e->target.object[0];
        /* Functions of libc are called under its own locks and in handlers: all of them at once were seen to hang a
         * process. One that the user has thought of is another thing. */
        if (hook_is_pattern(e->target.symbol) && hooks.refused.libc) {
            if (e->target.object[0])
                hook_refuse(event, e->target.symbol, "a pattern is not taken for libc: name its functions one by one");
            continue;
        }
        hook_find(&hooks.object, e->target.symbol, hook_match, &event);
    }
}

/* As <link.h> has it since glibc 2.35 (struct r_debug_extended). */
struct hook_namespace {
    struct r_debug debug;
    const struct hook_namespace *next; /* only when debug.r_version says so */
};

static const struct hook_namespace *hook_next_namespace(const struct r_debug *d)
{
    return d && d->r_version >= 2 ? ((const struct hook_namespace *)d)->next : NULL;
}

static bool hook_others_are_consistent(const struct r_debug *d)
{
    for (const struct hook_namespace *n = hook_next_namespace(d); n; n = hook_next_namespace(&n->debug))
        if (n->debug.r_state != RT_CONSISTENT)
            return false;
    return true;
}

static int hook_visit_object(struct dl_phdr_info *i, size_t size, void *context)
{
    size_t *position = context;

    (void)size;
    object_fill(&hooks.object, i, (*position)++);
    for (size_t k = 0; k < hooks.n_seen; k++)
        if (hooks.seen[k].identity == hooks.object.identity) {
            hooks.seen[k].there = true;
            return 0;
        }
    if (hooks.n_seen == HOOK_SEEN)
        return 0;
    hooks.seen[hooks.n_seen].identity = hooks.object.identity;
    hooks.seen[hooks.n_seen++].there = true;
    hook_refused_read(&hooks.refused, &hooks.object);
    hook_object();
    return 0;
}

/* The namespaces that dlmopen makes, which dl_iterate_phdr does not show: ld.so has their lists chained for a debugger, since
 * glibc 2.35. There is no program header table in them, so it is read where the file has it. */
static void hook_visit_others(size_t *position)
{
    for (const struct hook_namespace *n = hook_next_namespace(real_debug()); n; n = hook_next_namespace(&n->debug))
        for (const struct link_map *map = n->debug.r_map; map; map = map->l_next) {
            struct dl_phdr_info i = {.dlpi_addr = map->l_addr, .dlpi_name = map->l_name};
            ElfW(Ehdr) header;
            if (sys4(SYS_pread64, hooks.mem, &header, sizeof header, map->l_addr) != (long)sizeof header ||
                memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
                header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) > HOOK_HEADERS)
                continue;
            i.dlpi_phdr = (const ElfW(Phdr) *)(map->l_addr + header.e_phoff);
            i.dlpi_phnum = header.e_phnum;
            (void)hook_visit_object(&i, sizeof i, position);
        }
}

/* The hooks of an object that was unloaded can serve again; no thread is in its functions. */
static void hook_forget(uint64_t identity)
{
    for (size_t i = 0; i < hooks.n_hooks; i++)
        if (hooks.hook[i].object == identity)
            hooks.hook[i].object = 0;
}

static void hook_scan(void)
{
    size_t position = 0, kept = 0;

    for (size_t i = 0; i < hooks.n_seen; i++)
        hooks.seen[i].there = false;
    hooks.mem = patch_open();
    dl_iterate_phdr(hook_visit_object, &position);
    hook_visit_others(&position);
    if (hooks.mem >= 0)
        sys1(SYS_close, hooks.mem);
    hooks.mem = -1;
    for (size_t i = 0; i < hooks.n_seen; i++) {
        if (hooks.seen[i].there)
            hooks.seen[kept++] = hooks.seen[i];
        else
            hook_forget(hooks.seen[i].identity);
    }
    hooks.n_seen = kept;
}

/* In place of ld.so's empty function, on the thread that opens or closes a library, which holds ld.so's lock. */
static void hook_loaded(void)
{
    const struct r_debug *d = real_debug();

    if (d && d->r_state == RT_CONSISTENT && post_own() && hook_others_are_consistent(d))
        hook_scan();
}

static void hook_watch(void)
{
    uintptr_t at = (uintptr_t)real_find("_dl_debug_state");
    int mem = patch_open();

    if (!at || mem < 0 || !patch_empty(mem, at, hook_loaded))
        notice_complain(NULL, "GIVEBACK_ON: objects that the program opens later are not searched for functions: "
                              "ld.so has no place to be told by");
    if (mem >= 0)
        sys1(SYS_close, mem);
}

/* Every process of a tree has the same targets, and most of them have nothing to do with them. What never came is named once,
 * when the process ends that was started with it: the first of the tree. Another one speaks only of a function that is missing
 * in an object which that first one need not have. */
__attribute__((destructor)) static void hook_end(void)
{
    if (!hooks.pid || sys0(SYS_getpid) != hooks.pid)
        return;
    for (size_t i = 0; i < hooks.n_events; i++) {
        const struct hook_event *e = &hooks.event[i];
        char line[100];
        struct text t;

        if (e->native && !e->hooked && !e->refused && (!hooks.inherited || (e->object_seen && !e->libc_seen)))
            hook_say(i, NULL, NULL, e->object_seen ? "no such function was loaded" : "no such object was loaded");
        if (e->refused <= HOOK_SAID)
            continue;
        text_init(&t, line, sizeof line);
        text_u64(&t, e->refused - HOOK_SAID);
        text_str(&t, " more functions were not hooked");
        hook_say(i, NULL, NULL, line);
    }
}

void hook_start(const struct event *events, size_t n)
{
    uint32_t exits = 0;
    bool native = false;
    long at;

    for (size_t i = 0; i < n; i++) {
        if (event_table[events[i].kind].takes != EVENT_TAKES_TARGET || strncmp(events[i].argument, "py:", 3) == 0 ||
            event_native_target(events[i].argument, &hooks.event[i].target) != 0)
            continue;
        hooks.event[i].native = native = true;
        if (events[i].kind == EVENT_EXIT)
            exits |= 1U << i;
    }
    if (!native)
        return;
    hooks.events = events;
    hooks.n_events = n;
    hooks.pid = sys0(SYS_getpid);
    hooks.inherited = parent_speaks();
    at = sys6(SYS_mmap, 0, HOOK_MAX * sizeof(struct hook), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at <= 0)
        return;
    hooks.hook = (struct hook *)at;
    hook_call_start(exits);
    hook_scan();
    hooks.started = true;
    hook_watch();
}
