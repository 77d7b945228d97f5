#include "hook.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "glob.h"
#include "hook_call.h"
#include "hook_find.h"
#include "notice.h"
#include "object.h"
#include "patch.h"
#include "post.h"
#include "real.h"
#include "sys.h"
#include "text.h"

enum {
    HOOK_MAX = 8192,
    HOOK_SEEN = 2048, /* further objects are not searched; a large PyTorch process has about 300 */
    HOOK_SAID = 8     /* refusals of one event that are named; the others are counted */
};

struct hook_event {
    bool native;
    struct event_native target;
    bool hooked;
    unsigned refused;
    bool object_seen; /* some object's name matched */
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
    int mem;
    bool started; /* objects that come now are not relocated yet */
    long pid;
} hooks;

/* Never hooked, by the names as symbol tables have them, and why. */
static const struct {
    const char *names, *why;
} hook_forbidden[] = {
    {"malloc,calloc,realloc,free,cfree,memalign,aligned_alloc,posix_memalign,valloc,pvalloc,reallocarray,malloc_usable_size,"
     "__libc_malloc,__libc_calloc,__libc_realloc,__libc_free,__libc_memalign,__libc_valloc,__libc_pvalloc,_int_malloc,_int_free,"
     "_int_realloc,tc_*,je_*,_rjem_*,mi_*,scalable_*,__TBB_malloc*,_Znw*,_Zna*,_Zdl*,_Zda*",
     "it is an allocator's entry point, where no release can be made"},
    {"mmap,mmap64,munmap,mremap,madvise,mprotect,brk,sbrk,__brk,__sbrk,__mmap,__munmap,__madvise,__mprotect,pthread_mutex_*,"
     "__pthread_mutex_*,pthread_spin_*,sched_yield,__sched_yield,dl_iterate_phdr,pthread_getspecific,pthread_setspecific",
     "allocators call it while they hold their locks"},
    {"setjmp,_setjmp,__setjmp,sigsetjmp,__sigsetjmp,vfork,__vfork,getcontext,swapcontext,setcontext,clone,__clone,clone3",
     "it may return twice, or not at all"},
    {"dlopen,dlmopen,dlsym,dlvsym,_Unwind_*", "what it does depends on where it is called from"},
    {"mcount,_mcount,__fentry__,__tls_get_addr,___tls_get_addr,__morestack,__x86_*_thunk_*,_dl_runtime_*,_dl_tlsdesc_*,_start,"
     "_init,_fini,__cyg_profile_*,__aarch64_*,__arm_*", "it is not called as other functions are"},
    {"*.isra.*,*.constprop.*,*.part.*,*.cold,*.cold.*", "it is a part or a clone that the compiler made, which is not called as the function is"},
};

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

static const char *hook_why_forbidden(const char *name)
{
    for (size_t i = 0; i < sizeof hook_forbidden / sizeof *hook_forbidden; i++)
        if (glob_match_list(hook_forbidden[i].names, name))
            return hook_forbidden[i].why;
    return NULL;
}

/* Reasons that lie in the object as a whole. */
static const char *hook_why_not_object(const struct object *o)
{
    const struct link_map *own = real_own();
    unsigned long vdso = getauxval(AT_SYSINFO_EHDR);

    if (own && o->bias == own->l_addr)
        return "it is this library's own";
    if (vdso && o->bias == vdso)
        return "it is the kernel's";
    if (o->has_symbols && elfsym_find(&o->symbols, "_dl_debug_state"))
        return "it is ld.so's own, which no release may interrupt";
    for (size_t k = 0; k < o->n_segments; k++)
        if (o->segments[k].p_type == PT_DYNAMIC)
            for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)(o->bias + o->segments[k].p_vaddr); d->d_tag != DT_NULL; d++)
                if (d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && d->d_un.d_val & DF_TEXTREL))
                    return "its object has text relocations";
    return NULL;
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

/* What an IFUNC's resolver chose; its own size is that of the resolver, so the function's is looked for by its address. */
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

static const char *hook_resolve(struct hook_found *f)
{
    /* What ld.so gives to a resolver on aarch64 (sys/ifunc.h: bit 62 says that there is a second argument); elsewhere it is nothing. */
    unsigned long hwcap = getauxval(AT_HWCAP), known[3] = {sizeof known, hwcap, getauxval(AT_HWCAP2)};
    struct hook_chosen c;

    if (hooks.started)
        return "it is chosen at run time (IFUNC) in an object that is not yet relocated";
    c.at = (uintptr_t)((void *(*)(unsigned long, const unsigned long *))f->at)(hwcap | 1UL << 62, known);
    c.size = 0;
    hook_find(&hooks.object, "*", hook_size, &c);
    f->at = c.at;
    f->size = c.size;
    return c.size ? NULL : "it is chosen at run time (IFUNC), and how long the chosen one is stands in no table";
}

static const char *hook_install(size_t event, struct hook_found *f)
{
    uintptr_t low, high;
    const char *why;
    struct hook *h;

    if (f->type == STT_OBJECT)
        return "it is data";
    why = hook_why_not_object(&hooks.object);
    if (!why && f->type == STT_GNU_IFUNC)
        why = hook_resolve(f);
    if (why)
        return why;
    if (!f->size)
        return "how long it is stands in no table";
    if (!object_is_code(&hooks.object, f->at, f->size))
        return "it does not lie in its object's code, or that cannot be read";
    h = hook_of(f->at);
    if (!h)
        return "there are too many hooked functions";
    if (!h->object) {
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
    const char *why = hook_why_forbidden(f->name);
    struct hook_found found = *f;

    if (!named && (f->type == STT_OBJECT || why))
        return; /* a pattern means what it can mean */
    if (!why)
        why = hook_install(event, &found);
    if (why)
        hook_refuse(event, f->name, why);
}

static void hook_object(void)
{
    for (size_t event = 0; event < hooks.n_events; event++) {
        struct hook_event *e = &hooks.event[event];

        if (!e->native || (e->target.object[0] && !glob_match(e->target.object, hooks.object.name)))
            continue;
        /* Without a name of an object everything is looked at, but not what is never hooked in any case. */
        if (!e->target.object[0] && hook_why_not_object(&hooks.object))
            continue;
        e->object_seen = true;
        /* Functions of libc are called under its own locks and in handlers: all of them at once were seen to hang a
         * process. One that the user has thought of is another thing. */
        if (hook_is_pattern(e->target.symbol) && hooks.object.has_symbols &&
            elfsym_find(&hooks.object.symbols, "gnu_get_libc_version")) {
            if (e->target.object[0])
                hook_refuse(event, e->target.symbol, "a pattern is not taken for libc: name its functions one by one");
            continue;
        }
        hook_find(&hooks.object, e->target.symbol, hook_match, &event);
    }
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
    hook_object();
    return 0;
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

    if (d && d->r_state == RT_CONSISTENT && post_own())
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

/* What never came is named once, when the process ends that was started with it. */
__attribute__((destructor)) static void hook_end(void)
{
    if (!hooks.pid || sys0(SYS_getpid) != hooks.pid)
        return;
    for (size_t i = 0; i < hooks.n_events; i++) {
        const struct hook_event *e = &hooks.event[i];
        char line[100];
        struct text t;

        if (e->native && !e->hooked && !e->refused)
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
    at = sys6(SYS_mmap, 0, HOOK_MAX * sizeof(struct hook), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at <= 0)
        return;
    hooks.hook = (struct hook *)at;
    hook_call_start(exits);
    hook_scan();
    hooks.started = true;
    hook_watch();
}
