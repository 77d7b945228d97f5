#include "patch.h"

#include <cpuid.h>
#include <string.h>

#include "insn_x86_64.h"
#include "patch_room.h"


extern uint32_t hook_has_xsave __attribute__((visibility("hidden")));
uint32_t hook_has_xsave; /* arch/x86_64_hook.S */

int patch_open(void)
{
    unsigned a, b, c, d;

    if (__get_cpuid(1, &a, &b, &c, &d))
        hook_has_xsave = c >> 27 & 1; /* OSXSAVE */
    return patch_room_open();
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
    return patch_room_write(fd, at, jump, sizeof jump);
}

const char *patch_function(int fd, struct hook *h, size_t size, uintptr_t low, uintptr_t high)
{
    const unsigned char *code = (const unsigned char *)h->at;
    const struct patch_place place = {low, high, low, high, INSN_REACH};
    struct insn_move m;
    struct patch_slot s;
    const char *why;

    if (fd < 0)
        return "its code cannot be written: /proc/self/mem does not open";
    if (!h->slot || !patch_room_is_near((uintptr_t)h->slot, &place))
        h->slot = (unsigned char *)patch_room_take(&place);
    if (!h->slot)
        return "there is no room for a trampoline within 2 GiB of it";
    why = insn_detour(&m, code, size, h->at, (uintptr_t)h->slot + offsetof(struct patch_slot, moved));
    if (why)
        return why;
    h->original = (const void *)m.to;
    patch_fill(&s, h->instead ? NULL : h, h->instead ? h->instead : (const void *)(uintptr_t)hook_stub);
    memcpy(s.moved, m.made, m.n_made);
    if (!patch_room_write(fd, (uintptr_t)h->slot, &s, sizeof s) || !patch_jump(fd, m.from, (uintptr_t)h->slot))
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
    const struct patch_place place = {at, at, at, at, INSN_REACH};
    struct patch_slot s;
    uintptr_t slot;

    if (insn_is_endbr64((const unsigned char *)at, INSN_ENDBR64))
        at += INSN_ENDBR64;
    if (!patch_is_empty((const unsigned char *)at))
        return false;
    slot = patch_room_take(&place);
    patch_fill(&s, NULL, (const void *)(uintptr_t)loaded);
    return slot && patch_room_write(fd, slot, &s, sizeof s) && patch_jump(fd, at, slot);
}
