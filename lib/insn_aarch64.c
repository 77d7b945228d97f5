#include "insn_aarch64.h"

#include <string.h>

#define A64_BRK 0xd4200000u
#define A64_BTI_C 0xd503245fu
#define A64_SCRATCH 17u /* x17: no caller expects it to live through a call, and no function finds anything in it */

/* Instructions by the bits that are theirs; the first that fits. What fits none is PLAIN: it neither reads its own address nor
 * belongs to a neighbour. Arm Architecture Reference Manual, DDI 0487, C4.1, with the extensions up to Armv9.6. */
static const struct {
    uint32_t mask, bits;
    enum a64_kind kind;
} a64_table[] = {
    {0xffff0000, 0x00000000, A64_TRAPS},    /* udf */
    {0x9e000000, 0x80000000, A64_PLAIN},    /* SME */
    {0x1e000000, 0x00000000, A64_UNKNOWN},  /* unallocated, as the next two */
    {0x1e000000, 0x02000000, A64_UNKNOWN},
    {0x1e000000, 0x06000000, A64_UNKNOWN},
    {0xfffffc00, 0x0420bc00, A64_UNKNOWN},  /* movprfx: the next instruction is the other half of it */
    {0xff3ee000, 0x04102000, A64_UNKNOWN},  /* movprfx, predicated */
    {0x9f000000, 0x10000000, A64_ADR},      /* adr */
    {0x9f000000, 0x90000000, A64_ADR},      /* adrp */
    {0x7f800000, 0x13800000, A64_PLAIN},    /* extr */
    {0x1f800000, 0x13800000, A64_UNKNOWN},  /* autiasppc, autibsppc */
    {0xfc000000, 0x14000000, A64_GOES},     /* b */
    {0xfc000000, 0x94000000, A64_CALLS},    /* bl */
    {0xff000000, 0x54000000, A64_MAY_GO},   /* b.cond, bc.cond */
    {0x7e000000, 0x34000000, A64_MAY_GO},   /* cbz, cbnz */
    {0x7e000000, 0x36000000, A64_MAY_GO},   /* tbz, tbnz */
    {0x7e000000, 0x74000000, A64_NEAR},     /* cb<cond>, cbb, cbh */
    {0xffe0001f, 0xd4000001, A64_PLAIN},    /* svc */
    {0xffe0001f, 0xd4200000, A64_TRAPS},    /* brk */
    {0xffe0001f, 0xd4400000, A64_TRAPS},    /* hlt */
    {0xffffffff, 0xd50324ff, A64_UNKNOWN},  /* pacm: changes what the next paciasp signs with */
    {0xffffff3f, 0xd503241f, A64_LANDS},    /* bti, in its four forms */
    {0xffffffbf, 0xd503233f, A64_SIGNS},    /* paciasp, pacibsp */
    {0xffffffe0, 0xd5233060, A64_UNKNOWN},  /* tstart: a transaction that fails comes back to it */
    {0xff000000, 0xd5000000, A64_PLAIN},    /* the other hints, barriers, system registers */
    {0xfffffc1f, 0xd61f0000, A64_ENDS},     /* br */
    {0xfffff81f, 0xd61f081f, A64_ENDS},     /* braaz, brabz */
    {0xfffff800, 0xd71f0800, A64_ENDS},     /* braa, brab */
    {0xfffffc1f, 0xd65f0000, A64_ENDS},     /* ret */
    {0xfffffbff, 0xd65f0bff, A64_ENDS},     /* retaa, retab */
    {0xfffffc1f, 0xd63f0000, A64_CALLS_BY}, /* blr */
    {0xfffff81f, 0xd63f081f, A64_CALLS_BY}, /* blraaz, blrabz */
    {0xfffff800, 0xd73f0800, A64_CALLS_BY}, /* blraa, blrab */
    {0x1c000000, 0x14000000, A64_UNKNOWN},  /* what is left of branches, exceptions and system; retaasppc */
    {0xff000000, 0xdc000000, A64_UNKNOWN},  /* unallocated */
    {0x3b000000, 0x18000000, A64_LOAD},     /* ldr, ldrsw, prfm (literal) */
    {0x3b200c00, 0x19000400, A64_UNKNOWN},  /* cpy*, set*: three in a row, and the kernel goes back to the first */
    {0xffff8000, 0xdac18000, A64_UNKNOWN},  /* paciasppc and its kin, which sign with their own address */
};

/* n bits from `low` on, as a signed number. */
static int64_t a64_field(uint32_t word, unsigned low, unsigned n)
{
    return (int64_t)((uint64_t)word << (64 - low - n)) >> (64 - n);
}

struct a64 a64_read(uint32_t word)
{
    struct a64 a = {A64_PLAIN, 0};

    for (size_t i = 0; i < sizeof a64_table / sizeof *a64_table; i++)
        if ((word & a64_table[i].mask) == a64_table[i].bits) {
            a.kind = a64_table[i].kind;
            break;
        }
    switch (a.kind) {
    case A64_ADR:
        a.distance = a64_field(word, 5, 19) * 4 + (int64_t)(word >> 29 & 3);
        if (word >> 31)
            a.distance *= 4096;
        break;
    case A64_GOES: case A64_CALLS: a.distance = a64_field(word, 0, 26) * 4; break;
    case A64_LOAD: a.distance = a64_field(word, 5, 19) * 4; break;
    case A64_MAY_GO: a.distance = ((word & 0x7e000000) == 0x36000000 ? a64_field(word, 5, 14) : a64_field(word, 5, 19)) * 4; break;
    case A64_NEAR: a.distance = a64_field(word, 5, 9) * 4; break;
    default: break;
    }
    return a;
}

static uint32_t a64_word(const unsigned char *code)
{
    uint32_t word;

    memcpy(&word, code, sizeof word);
    return word;
}

static void a64_put(unsigned char *at, uint32_t word)
{
    memcpy(at, &word, sizeof word);
}

/* What an instruction at `address` refers to. */
static uint64_t a64_target(uint32_t word, const struct a64 *a, uint64_t address)
{
    if (a->kind == A64_ADR && word >> 31)
        address &= ~UINT64_C(4095);
    return address + (uint64_t)a->distance;
}

bool a64_goes(const unsigned char *code, uint64_t address, uint64_t *target)
{
    struct a64 a = a64_read(a64_word(code));

    *target = address + (uint64_t)a.distance;
    return a.kind == A64_GOES || a.kind == A64_MAY_GO || a.kind == A64_NEAR || a.kind == A64_CALLS;
}

/* By a branch, or by one of the addresses that it has. */
bool a64_enters(const unsigned char *made, uint64_t at, uint64_t from, uint64_t end)
{
    uint64_t to;

    for (size_t i = 0; i < A64_MOVED_MAX; i += A64_INSN) {
        if (a64_goes(made + i, at + i, &to) && to > from && to < end)
            return true;
        if (i + sizeof to > A64_MOVED_MAX)
            continue;
        memcpy(&to, made + i, sizeof to);
        if (to > from && to < end)
            return true;
    }
    return false;
}

bool a64_is_near(uint64_t from, uint64_t to, uint64_t n)
{
    int64_t distance = (int64_t)(to - from);

    return distance > (int64_t)n - A64_BRANCH && distance < A64_BRANCH - (int64_t)n;
}

uint32_t a64_branch(uint64_t from, uint64_t to)
{
    return 0x14000000u | (uint32_t)((to - from) >> 2 & 0x3ffffff);
}

/* The copy while it is made: code from its begin on, the addresses that it needs from its end back. */
struct a64_making {
    struct a64_move *m;
    bool near;
    size_t code, addresses;
};

static void a64_make(struct a64_making *k, uint32_t word)
{
    a64_put(k->m->made + k->code, word);
    k->code += A64_INSN;
}

/* ldr x<reg>, =address */
static void a64_make_address(struct a64_making *k, unsigned reg, uint64_t address)
{
    k->addresses -= sizeof address;
    memcpy(k->m->made + k->addresses, &address, sizeof address);
    a64_make(k, 0x58000000u | (uint32_t)(k->addresses - k->code) << 3 | reg);
}

/* A branch, or from afar by way of x17. The function's own branches may be that far from the copy too. */
static const char *a64_make_branch(struct a64_making *k, uint64_t to)
{
    if (a64_is_near(k->m->to + k->code, to, 0)) {
        a64_make(k, a64_branch(k->m->to + k->code, to));
    } else if (k->near) {
        return "what its first bytes refer to is too far from any free place";
    } else {
        a64_make_address(k, A64_SCRATCH, to);
        a64_make(k, (k->m->guarded ? 0xd65f0000u : 0xd61f0000u) | A64_SCRATCH << 5); /* ret x17, which needs no pad; br x17 */
    }
    return NULL;
}

/* The same load, from where x17 points, by bits 31, 30 and 26 of the one with a literal. */
static uint32_t a64_load_by_register(uint32_t word)
{
    static const uint32_t general[] = {0xb9400000, 0xf9400000, 0xb9800000, 0xf9800000}, vector[] = {0xbd400000, 0xfd400000, 0x3dc00000};

    return (word >> 26 & 1 ? vector : general)[word >> 30] | A64_SCRATCH << 5 | (word & 31);
}

/* One instruction, which stands at `from`, to the end of the copy. */
static const char *a64_move_one(struct a64_making *k, uint32_t word, uint64_t from)
{
    struct a64 a = a64_read(word);
    uint64_t target = a64_target(word, &a, from);
    bool tests_bit = (word & 0x7e000000) == 0x36000000;
    const char *why;
    size_t over;

    switch (a.kind) {
    case A64_PLAIN: case A64_ENDS: case A64_SIGNS: a64_make(k, word); return NULL;
    case A64_ADR: a64_make_address(k, word & 31, target); return NULL;
    case A64_LOAD:
        a64_make_address(k, A64_SCRATCH, target);
        a64_make(k, a64_load_by_register(word));
        return NULL;
    case A64_GOES: return a64_make_branch(k, target);
    case A64_MAY_GO: /* over the next one, which goes over the way to where this one went */
        a64_make(k, (word & ~(tests_bit ? 0x0007ffe0u : 0x00ffffe0u)) | 2 << 5);
        over = k->code;
        a64_make(k, A64_BRK);
        why = a64_make_branch(k, target);
        a64_put(k->m->made + over, a64_branch(over, k->code));
        return why;
    case A64_NEAR: return "there is a branch in its first bytes that reaches no further than where it stands";
    case A64_CALLS: case A64_CALLS_BY: return "there is a call in its first bytes";
    case A64_TRAPS: return "there is a breakpoint in its first bytes";
    case A64_LANDS: return "it branches back into its own first bytes";
    case A64_UNKNOWN: break;
    }
    return "there is an instruction in its first bytes that is not known, or bound to its place";
}

/* Might it write x17, which the way back from afar needs? By every field that can name a result, whatever it really is. */
static bool a64_may_write_scratch(uint32_t word)
{
    bool memory = (word & 0x0a000000) == 0x08000000, system = (word & 0x1c000000) == 0x14000000;

    if ((word & 31) == A64_SCRATCH || (system && (word & 31) == A64_SCRATCH - 1))
        return true;
    return memory && ((word >> 5 & 31) == A64_SCRATCH || (word >> 10 & 31) == A64_SCRATCH || (word >> 16 & 30) == (A64_SCRATCH & 30));
}

/* The jump that takes the place of the function's first instructions, behind the pad that stays there. */
static void a64_make_head(struct a64_move *m, bool pad, bool near)
{
    unsigned char *at = m->head;
    uint64_t from = m->from;

    if (pad) {
        uint32_t first = a64_word(m->code);
        a64_put(at, a64_read(first).kind == A64_LANDS ? first : A64_BTI_C);
        at += A64_INSN;
        from += A64_INSN;
    }
    if (near) {
        a64_put(at, a64_branch(from, m->slot));
        at += A64_INSN;
    } else {
        uint64_t pages = (m->slot >> 12) - (from >> 12);
        a64_put(at, 0x90000010u | (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2 & 0x7ffff) << 5); /* adrp x16 */
        a64_put(at + 4, 0x91000210u | (uint32_t)(m->slot & 4095) << 10);                                /* add x16, x16, # */
        a64_put(at + 8, 0xd61f0200u);                                                                  /* br x16 */
        at += A64_FAR;
    }
    m->n_head = (size_t)(at - m->head);
    m->patched = pad && memcmp(m->head, m->code, A64_INSN) == 0 ? m->from + A64_INSN : m->from;
}

/* Where there is a landing pad it must stay: to an indirect call, and on a processor that minds (BTI) only there. A bti stays as it
 * is. A paciasp is one by what it does, and must do it in the callee: a bti c takes its place, and it is moved with what follows. */
const char *a64_move(struct a64_move *m)
{
    bool near = a64_is_near(m->from, m->slot, A64_MOVED_MAX) && a64_is_near(m->from, m->to, A64_MOVED_MAX);
    struct a64_making k = {m, near, 0, A64_MOVED_MAX};
    enum a64_kind first = m->size >= A64_INSN ? a64_read(a64_word(m->code)).kind : A64_PLAIN;
    bool pad = first == A64_LANDS || first == A64_SIGNS;
    size_t end = (pad ? A64_INSN : 0) + (near ? (size_t)A64_INSN : A64_FAR);
    const char *why = NULL;

    if (m->size < end || m->from % A64_INSN)
        return "it is shorter than a jump";
    for (size_t at = 0; at < A64_MOVED_MAX; at += A64_INSN)
        a64_put(m->made + at, A64_BRK);
    for (size_t at = first == A64_LANDS ? A64_INSN : 0; at < end && !why; at += A64_INSN) {
        uint32_t word = a64_word(m->code + at);
        enum a64_kind kind = a64_read(word).kind;

        if (!near && a64_may_write_scratch(word) && kind != A64_SIGNS)
            return "its first bytes may use a register that the way there from afar needs";
        if ((kind == A64_ENDS || kind == A64_GOES) && at + A64_INSN < end)
            return "it ends, or goes elsewhere, before there is room for a jump";
        why = a64_move_one(&k, word, m->from + at);
    }
    if (!why)
        why = a64_make_branch(&k, m->from + end);
    if (!why)
        a64_make_head(m, pad, near);
    return why;
}

const char *a64_check_body(const struct a64_move *m)
{
    for (size_t at = 0; at + A64_INSN <= m->size; at += A64_INSN) {
        bool calls = a64_read(a64_word(m->code + at)).kind == A64_CALLS;
        uint64_t target;

        if (a64_goes(m->code + at, m->from + at, &target) && target - m->from < m->n_head && !(calls && target == m->from))
            return "it branches back into its own first bytes";
    }
    return NULL;
}

const char *a64_detour(struct a64_move *m)
{
    const char *why = a64_move(m);

    return why ? why : a64_check_body(m);
}
