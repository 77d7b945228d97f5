#include "patch.h"

#include <string.h>
#include <sys/auxv.h>

#include "insn_aarch64.h"
#include "patch_room.h"

#define PATCH_FAR INT64_C(0x7fff0000)
#define PATCH_RET 0xd65f03c0u

/* From <asm/hwcap.h>, which an old system has without them. */
#define HAS_SVE (UINT64_C(1) << 22)
#define HAS_GCS (UINT64_C(1) << 32)
#define HAS2_BTI (UINT64_C(1) << 17)
#define HAS2_SME (UINT64_C(1) << 23)

extern uint32_t hook_vectors __attribute__((visibility("hidden")));
uint32_t hook_vectors; /* arch/aarch64_hook.S: 1 SVE, 2 SME */

int patch_open(void)
{
    hook_vectors = (getauxval(AT_HWCAP) & HAS_SVE ? 1 : 0) | (getauxval(AT_HWCAP2) & HAS2_SME ? 2 : 0);
    return patch_room_open();
}

/* ldr x16, hook; ldr x17, stub; br x17; then both addresses; then the moved begin. Or, without a hook, only the jump. The page has
 * no PROT_BTI, so that any of it may be jumped to. */
struct patch_slot {
    uint32_t code[4];
    const void *hook;
    const void *stub;
    unsigned char moved[A64_MOVED_MAX];
};
_Static_assert(sizeof(struct patch_slot) == PATCH_SLOT, "a slot holds a moved begin");

static void patch_fill(struct patch_slot *s, const void *hook, const void *stub)
{
    static const uint32_t with_hook[] = {0x58000090, 0x580000b1, 0xd61f0220, 0xd4200000};
    static const uint32_t without[] = {0x580000d1, 0xd61f0220, 0xd4200000, 0xd4200000};

    memset(s, 0, sizeof *s);
    memcpy(s->code, hook ? with_hook : without, sizeof s->code);
    s->hook = hook;
    s->stub = stub;
}

/* The kernel has already made the caches agree, as for any debugger (flush_ptrace_access); an emulator that runs code of ours on
 * another kind of machine learns of it from these instructions only. No processor has shorter lines than 16 bytes. */
static bool patch_write(int fd, uintptr_t at, const void *bytes, size_t n)
{
    if (!patch_room_write(fd, at, bytes, n))
        return false;
    for (uintptr_t line = at & ~(uintptr_t)15; line < at + n; line += 16)
        __asm__ volatile("dc cvau, %0" : : "r"(line) : "memory");
    __asm__ volatile("dsb ish" : : : "memory");
    for (uintptr_t line = at & ~(uintptr_t)15; line < at + n; line += 16)
        __asm__ volatile("ic ivau, %0" : : "r"(line) : "memory");
    __asm__ volatile("dsb ish\n\tisb" : : : "memory");
    return true;
}

/* A slot that one branch reaches, else one within 2 GiB; 0: none. */
static uintptr_t patch_slot_for(const struct hook *h, uintptr_t low, uintptr_t high)
{
    const struct patch_place near = {low, high, h->at, h->at, A64_BRANCH - PATCH_SLOT}, far = {low, high, h->at, h->at, PATCH_FAR};
    uintptr_t slot = (uintptr_t)h->slot;

    if (slot && patch_room_is_near(slot, &near))
        return slot;
    if ((slot = patch_room_take(&near)))
        return slot;
    /* Back from afar goes a `ret` where only that may go anywhere (BTI); where a `ret` may not either (GCS) there is no way. */
    if (h->not_far || getauxval(AT_HWCAP) & HAS_GCS)
        return 0;
    slot = (uintptr_t)h->slot;
    return slot && patch_room_is_near(slot, &far) ? slot : patch_room_take(&far);
}

const char *patch_function(int fd, struct hook *h, size_t size, uintptr_t low, uintptr_t high)
{
    struct a64_move m = {.code = (const unsigned char *)h->at, .size = size, .from = h->at, .guarded = getauxval(AT_HWCAP2) & HAS2_BTI};
    struct patch_slot s;
    const char *why;

    if (fd < 0)
        return "its code cannot be written: /proc/self/mem does not open";
    m.slot = patch_slot_for(h, low, high);
    h->slot = (unsigned char *)m.slot;
    if (!m.slot)
        return h->not_far ? h->not_far : "there is no room for a trampoline near it";
    m.to = m.slot + offsetof(struct patch_slot, moved);
    why = a64_detour(&m);
    if (why)
        return why;
    h->original = (const void *)m.to;
    patch_fill(&s, h->instead ? NULL : h, h->instead ? h->instead : (const void *)(uintptr_t)hook_stub);
    memcpy(s.moved, m.made, sizeof m.made);
    if (!patch_write(fd, m.slot, &s, sizeof s) || !patch_write(fd, h->at, m.head, m.n_head))
        return "its code cannot be written";
    return NULL;
}

bool patch_empty(int fd, uintptr_t at, void (*loaded)(void))
{
    struct patch_slot s;
    uint32_t word, jump;

    memcpy(&word, (const void *)at, sizeof word);
    if (a64_read(word).kind == A64_LANDS) {
        at += A64_INSN;
        memcpy(&word, (const void *)at, sizeof word);
    }
    if (word != PATCH_RET)
        return false;
    const struct patch_place place = {at, at, at, at, A64_BRANCH - PATCH_SLOT};
    uintptr_t slot = patch_room_take(&place);
    jump = a64_branch(at, slot);
    patch_fill(&s, NULL, (const void *)(uintptr_t)loaded);
    return slot && patch_write(fd, slot, &s, sizeof s) && patch_write(fd, at, &jump, sizeof jump);
}
