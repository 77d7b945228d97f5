#include "patch.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "insn_x86_64.h"
#include "sys.h"

enum {
    PATCH_SLOT = 128,         /* one trampoline */
    PATCH_REGION = 64 * 1024, /* what is mapped at once */
    PATCH_REGIONS = 256,
    PATCH_STEP = 1 << 20 /* between two places that are tried */
};

extern uint32_t hook_has_xsave __attribute__((visibility("hidden")));
uint32_t hook_has_xsave; /* arch/x86_64_hook.S */

static struct {
    uintptr_t at;
    size_t used;
} patch_region[PATCH_REGIONS];
static size_t patch_regions;

int patch_open(void)
{
    unsigned a, b, c, d;

    if (__get_cpuid(1, &a, &b, &c, &d))
        hook_has_xsave = c >> 27 & 1; /* OSXSAVE */
    return (int)sys4(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
}

static bool patch_write(int fd, uintptr_t at, const void *bytes, size_t n)
{
    return sys4(SYS_pwrite64, fd, bytes, n, at) == (long)n && memcmp((const void *)at, bytes, n) == 0;
}

static bool patch_is_near(uintptr_t place, uintptr_t low, uintptr_t high)
{
    int64_t down = (int64_t)(place - high), up = (int64_t)(place + PATCH_REGION - low);

    return down > -INSN_REACH && up < INSN_REACH;
}

/* A place within reach that is free. Below the object first: above a program its heap begins, which is to grow on. */
static uintptr_t patch_map(uintptr_t low, uintptr_t high)
{
    uintptr_t down = (low & ~(uintptr_t)(PATCH_STEP - 1)) - PATCH_STEP;
    uintptr_t up = (high & ~(uintptr_t)(PATCH_STEP - 1)) + (UINT64_C(1) << 30);

    for (unsigned turn = 0; turn < 2; turn++)
        for (uintptr_t at = turn ? up : down; at > PATCH_STEP && patch_is_near(at, low, high);
             at += turn ? PATCH_STEP : -(uintptr_t)PATCH_STEP) {
            long got = sys6(SYS_mmap, (long)at, PATCH_REGION, PROT_READ | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (got == (long)at)
                return at;
            if (got > 0) /* a kernel before 4.17 takes the address for a wish */
                sys2(SYS_munmap, got, PATCH_REGION);
        }
    return 0;
}

/* Room for one trampoline; 0: none. */
static uintptr_t patch_slot(uintptr_t low, uintptr_t high)
{
    for (size_t i = 0; i < patch_regions; i++)
        if (patch_region[i].used < PATCH_REGION && patch_is_near(patch_region[i].at, low, high)) {
            patch_region[i].used += PATCH_SLOT;
            return patch_region[i].at + patch_region[i].used - PATCH_SLOT;
        }
    uintptr_t at = patch_regions < PATCH_REGIONS ? patch_map(low, high) : 0;
    if (at) {
        patch_region[patch_regions].at = at;
        patch_region[patch_regions++].used = PATCH_SLOT;
    }
    return at;
}

/* push the hook; jmp stub; then both addresses; then the moved begin. Or, without a hook, only the jump. */
struct patch_slot {
    unsigned char code[16];
    const void *hook;
    const void *stub;
    unsigned char moved[PATCH_SLOT - 32];
};
_Static_assert(sizeof(struct patch_slot) == PATCH_SLOT && INSN_MOVED_MAX <= PATCH_SLOT - 32, "a slot holds them");

static void patch_fill(struct patch_slot *s, const void *hook, const void *stub)
{
    static const unsigned char with_hook[] = {0xff, 0x35, 10, 0, 0, 0, 0xff, 0x25, 12, 0, 0, 0};
    static const unsigned char without[] = {0xff, 0x25, 18, 0, 0, 0};

    memset(s, 0xcc, sizeof *s);
    memcpy(s->code, hook ? with_hook : without, hook ? sizeof with_hook : sizeof without);
    s->hook = hook;
    s->stub = stub;
}

static bool patch_jump(int fd, uintptr_t at, uintptr_t to)
{
    unsigned char jump[INSN_JUMP] = {0xe9};
    int32_t distance = (int32_t)(to - at - INSN_JUMP);

    memcpy(jump + 1, &distance, sizeof distance);
    return patch_write(fd, at, jump, sizeof jump);
}

const char *patch_function(int fd, struct hook *h, size_t size, uintptr_t low, uintptr_t high)
{
    const unsigned char *code = (const unsigned char *)h->at;
    struct insn_move m;
    struct patch_slot s;
    const char *why;

    if (fd < 0)
        return "its code cannot be written: /proc/self/mem does not open";
    if (!h->slot || !patch_is_near((uintptr_t)h->slot & ~(uintptr_t)(PATCH_REGION - 1), low, high))
        h->slot = (unsigned char *)patch_slot(low, high);
    if (!h->slot)
        return "there is no room for a trampoline within 2 GiB of it";
    why = insn_detour(&m, code, size, h->at, (uintptr_t)h->slot + offsetof(struct patch_slot, moved));
    if (why)
        return why;
    h->original = (const void *)m.to;
    patch_fill(&s, h->instead ? NULL : h, h->instead ? h->instead : (const void *)(uintptr_t)hook_stub);
    memcpy(s.moved, m.made, m.n_made);
    if (!patch_write(fd, (uintptr_t)h->slot, &s, sizeof s) || !patch_jump(fd, m.from, (uintptr_t)h->slot))
        return "its code cannot be written";
    return NULL;
}

/* ret, and nothing but padding up to where the next function may begin. */
static bool patch_is_empty(const unsigned char *code)
{
    size_t at = 1;
    struct insn i;

    if (code[0] != 0xc3)
        return false;
    for (; at < INSN_JUMP; at += i.length)
        if (insn_read(&i, code + at, INSN_MAX) || !(code[at + i.length - 1] == 0x90 || memchr(code + at, 0x1f, i.length)))
            return false;
    return true;
}

bool patch_empty(int fd, uintptr_t at, void (*loaded)(void))
{
    struct patch_slot s;
    uintptr_t slot;

    if (insn_is_endbr64((const unsigned char *)at, INSN_ENDBR64))
        at += INSN_ENDBR64;
    if (!patch_is_empty((const unsigned char *)at))
        return false;
    slot = patch_slot(at, at);
    patch_fill(&s, NULL, (const void *)(uintptr_t)loaded);
    return slot && patch_write(fd, slot, &s, sizeof s) && patch_jump(fd, at, slot);
}
