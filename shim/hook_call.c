#include "hook_call.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <unwind.h>

#include "arch/frame.h"
#include "elfsym.h"
#include "safe.h"
#include "sys.h"

#define HOOK_DEEP ((64U << 20) >> 7) /* as deep as a call is believed to be nested, on one stack */

enum { HOOK_PAGE = 4096 }; /* or larger: then some places are asked for needlessly */

/* The fast path runs with the host's vector registers live. */
#define HOOK_FAST __attribute__((target("general-regs-only")))

/* For the stub (arch/). */
uint32_t hook_enter(struct hook_frame *f);
uint32_t hook_exit(const struct hook_frame *f);
void hook_fire(uint32_t events);
_Unwind_Reason_Code hook_personality(int version, _Unwind_Action actions, uint64_t class, struct _Unwind_Exception *e,
                                     struct _Unwind_Context *context);

static uint32_t hook_exits;
/* Of the outermost call of each event on this thread: where its frame is, in units of 128 bytes, less than which no two
 * frames are apart; 0: none. 32 bits tell stacks apart that are less than 512 GiB from each other. */
static __thread uint32_t hook_live[EVENT_MAX] __attribute__((tls_model("initial-exec")));

void hook_call_start(uint32_t exits)
{
    hook_exits = exits;
}

HOOK_FAST static inline uint32_t hook_token(const struct hook_frame *f)
{
    uint32_t token = (uint32_t)((uintptr_t)&f->caller >> 7);

    return token ? token : 1;
}

/* Is this frame inside of that one? It is not when it lies above it, or so far below that it is on another stack. */
HOOK_FAST static inline bool hook_is_inside(uint32_t token, uint32_t live)
{
    return live - token - 1 < HOOK_DEEP;
}

/* How many of `n` bytes at `at` can be read: the function may have been called from the top of its stack (makecontext).
 * The kernel says it without a fault: it reads the mask before it finds out that there is no such way of setting one. */
HOOK_FAST uint32_t hook_readable(uintptr_t at, uint32_t n)
{
    uintptr_t page = (at + HOOK_PAGE - 1) & ~(uintptr_t)(HOOK_PAGE - 1);

    for (; page < at + n; page += HOOK_PAGE)
        if (sys4(SYS_rt_sigprocmask, 1000, page, 0, 8) == -EFAULT)
            return (uint32_t)(page - at);
    return n;
}

/* From the stub, on a host thread, anywhere: no lock, nothing that is slow. The events that are to fire before the call. */
HOOK_FAST uint32_t hook_enter(struct hook_frame *f)
{
    const struct hook *h = f->hook;
    uintptr_t at = (uintptr_t)f->arguments;
    uint32_t token = hook_token(f), fire = 0, mine = 0;

    for (uint32_t left = h->events; left; left &= left - 1) {
        unsigned event = (unsigned)__builtin_ctz(left);
        uint32_t live = hook_live[event];

        if (live && hook_is_inside(token, live))
            continue;
        if (live)
            fire |= hook_exits & 1U << event;
        hook_live[event] = token;
        mine |= 1U << event;
    }
    f->original = h->original;
    f->mine = mine;
    f->copy = h->stack;
    if ((at & (HOOK_PAGE - 1)) + h->stack > HOOK_PAGE || !(at & (HOOK_PAGE - 1)))
        f->copy = hook_probe(at, h->stack); /* a multiple of 16, as pages are */
    return fire | (mine & ~hook_exits);
}

/* Likewise; the events that are to fire behind it. */
HOOK_FAST uint32_t hook_exit(const struct hook_frame *f)
{
    uint32_t token = hook_token(f), fire = 0;

    for (uint32_t left = f->mine; left; left &= left - 1) {
        unsigned event = (unsigned)__builtin_ctz(left);

        if (hook_live[event] != token)
            continue;
        hook_live[event] = 0;
        fire |= 1U << event;
    }
    return fire & hook_exits;
}

/* With every register saved: a safe point. Ends of calls before begins, since the ends are those of earlier calls. */
void hook_fire(uint32_t events)
{
    for (unsigned turn = 0; turn < 2; turn++)
        for (uint32_t left = turn ? events & ~hook_exits : events & hook_exits; left; left &= left - 1)
            safe_point((unsigned)__builtin_ctz(left) + 1);
}

struct hook_unwinder {
    uintptr_t code; /* an address in it */
    _Unwind_Word (*get)(struct _Unwind_Context *, int);
};

static int hook_find_unwinder(struct dl_phdr_info *i, size_t size, void *context)
{
    struct hook_unwinder *u = context;
    const ElfW(Dyn) *dynamic = NULL;
    bool here = false;
    struct elfsym e;

    (void)size;
    for (size_t k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        if (p->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(i->dlpi_addr + p->p_vaddr);
        here = here || (p->p_type == PT_LOAD && u->code - i->dlpi_addr - p->p_vaddr < p->p_memsz);
    }
    if (!here)
        return 0;
    if (dynamic && elfsym_read(&e, i->dlpi_addr, dynamic) == 0) {
        const ElfW(Sym) *s = elfsym_find(&e, "_Unwind_GetGR");
        u->get = s ? (_Unwind_Word (*)(struct _Unwind_Context *, int))elfsym_address(&e, s) : NULL;
    }
    return 1;
}

/* Of the stub's frame, by the unwinder, on the thread that unwinds. In the cleanup phase the call is over: an exception
 * that somebody catches, a cancellation, pthread_exit. Only the unwinder that calls may be asked about its context; one
 * that is linked in and exports nothing cannot be, and the event then fires when the thread enters a hook again. */
_Unwind_Reason_Code hook_personality(int version, _Unwind_Action actions, uint64_t class, struct _Unwind_Exception *e,
                                     struct _Unwind_Context *context)
{
    struct hook_unwinder u = {(uintptr_t)__builtin_return_address(0), NULL};
    uintptr_t frame;

    (void)class;
    (void)e;
    if (version != 1 || !(actions & _UA_CLEANUP_PHASE))
        return _URC_CONTINUE_UNWIND;
    dl_iterate_phdr(hook_find_unwinder, &u);
    if (u.get) {
        frame = (uintptr_t)u.get(context, HOOK_FRAME_POINTER) - offsetof(struct hook_frame, caller);
        hook_fire(hook_exit((const struct hook_frame *)frame));
    }
    return _URC_CONTINUE_UNWIND;
}
