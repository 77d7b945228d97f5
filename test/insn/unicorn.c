/* unicorn FILE...: lib/insn_aarch64 against Capstone and the Unicorn emulator, over every function that the symbol tables of the
 * files name.
 *
 * Of each function every instruction is read by both: which ones depend on where they stand, and what they refer to. Then its begin
 * and the copy of it are run from the same state, some times over, a branch away and as far as it goes: they must end at the same
 * place, with the same registers, and have written the same to the same memory. So must what stands at the function's begin
 * afterwards: it changes nothing but x16, and ends at the trampoline. Exits with 1 at any difference. */
#include <capstone/capstone.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "insn_aarch64.h"
#include "walk.h"

#define BASE UINT64_C(0x1012300000)
#define APART UINT64_C(0x100000000)
#define NEAR UINT64_C(0x7654310) /* not round, so that no bit of a distance may be lost */
#define AFAR UINT64_C(0x76543210)
#define SLOT_MOVED 32 /* as in shim/arch/aarch64_patch.c */

enum { SYSTEM_CALL = 2 /* as the emulator counts exceptions */ };
enum { PAGE = 4096, PAGES = 64, BASES = 64, WRITES = 32, STATES = 4, GENERAL = 31, VECTORS = 32 };

static csh capstone;
static uc_engine *unicorn;
static unsigned long instructions, moved, moved_far, only_ours, not_run, new_kinds[2];
static struct { const char *why; unsigned long n; } refused_far[8];

static void differ(const char *name, const char *what, const unsigned char *code)
{
    walk_differ(name, what, code, A64_INSN);
}

/* As Capstone sees it; A64_UNKNOWN where it does not know it. *target: what it refers to. */
static enum a64_kind theirs(const cs_insn *c, uint64_t *target)
{
    const cs_arm64 *a = &c->detail->arm64;
    const cs_arm64_op *last = a->op_count ? &a->operands[a->op_count - 1] : NULL;
    bool refers = last && last->type == ARM64_OP_IMM;

    *target = refers ? (uint64_t)last->imm : 0;
    if (strncmp(c->mnemonic, "blr", 3) == 0)
        return A64_CALLS_BY;
    if (strncmp(c->mnemonic, "ret", 3) == 0 || strcmp(c->mnemonic, "br") == 0 || strncmp(c->mnemonic, "bra", 3) == 0 || strncmp(c->mnemonic, "brb", 3) == 0)
        return A64_ENDS;
    switch (c->id) {
    case ARM64_INS_ADR: case ARM64_INS_ADRP: return A64_ADR;
    case ARM64_INS_B: return a->cc == ARM64_CC_INVALID ? A64_GOES : A64_MAY_GO;
    case ARM64_INS_CBZ: case ARM64_INS_CBNZ: case ARM64_INS_TBZ: case ARM64_INS_TBNZ: return A64_MAY_GO;
    case ARM64_INS_BL: return A64_CALLS;
    case ARM64_INS_BRK: case ARM64_INS_HLT: return A64_TRAPS;
    case ARM64_INS_LDR: case ARM64_INS_LDRSW: case ARM64_INS_PRFM: return refers && a->op_count == 2 ? A64_LOAD : A64_PLAIN;
    default: return A64_PLAIN;
    }
}

static void walk(const char *name, const unsigned char *code, size_t size, uint64_t address)
{
    cs_insn *c = cs_malloc(capstone);

    for (size_t at = 0; at + A64_INSN <= size; at += A64_INSN) {
        const unsigned char *bytes = code + at;
        size_t n = A64_INSN;
        uint64_t where = address + at, target;
        uint32_t word;

        memcpy(&word, bytes, sizeof word);
        struct a64 a = a64_read(word);
        instructions++;
        if (!cs_disasm_iter(capstone, &bytes, &n, &where, c)) {
            only_ours++; /* data, or newer than this Capstone */
            continue;
        }
        enum a64_kind kind = theirs(c, &target);
        if (a.kind == A64_LANDS || a.kind == A64_SIGNS)
            new_kinds[a.kind == A64_SIGNS]++;
        else if (a.kind != kind)
            differ(name, "another kind", code + at);
        bool page = a.kind == A64_ADR && code[at + 3] & 0x80;
        bool refers = a.kind == A64_ADR || a.kind == A64_LOAD || a.kind == A64_GOES || a.kind == A64_MAY_GO || a.kind == A64_CALLS;
        if (refers && a.kind == kind && ((address + at) & ~(page ? UINT64_C(4095) : 0)) + (uint64_t)a.distance != target)
            differ(name, "refers to another place", code + at);
    }
    cs_free(c, 1);
}

/* What can be seen of a run. */
struct state {
    uint64_t given[GENERAL], general[GENERAL], sp, pc, flags;
    uint64_t vector[VECTORS][2];
    struct { uint64_t at; int64_t value; int size; } write[WRITES];
    size_t n_writes;
};
static uint64_t pages[PAGES];
static size_t n_pages;
static struct state *running;
static bool strange;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
    x = (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
    return x ^ x >> 33;
}

/* A page comes when it is used, with contents that its address decides, all of them instructions (movz): the emulator translates what
 * stands behind the code, too, and ends the program at some words that are none. */
static bool page_at(uint64_t at)
{
    uint32_t content[PAGE / A64_INSN];

    at &= ~(uint64_t)(PAGE - 1);
    for (size_t i = 0; i < n_pages; i++)
        if (pages[i] == at)
            return true;
    if (n_pages == PAGES || uc_mem_map(unicorn, at, PAGE, UC_PROT_ALL) != UC_ERR_OK)
        return false;
    for (size_t i = 0; i < PAGE / A64_INSN; i++)
        content[i] = 0x52800000 | (uint32_t)(mix(at + i) & 0x801fffff);
    pages[n_pages++] = at;
    return uc_mem_write(unicorn, at, content, sizeof content) == UC_ERR_OK;
}

static bool on_missing(uc_engine *u, uc_mem_type type, uint64_t at, int size, int64_t value, void *context)
{
    (void)u, (void)type, (void)value, (void)context; /* also where the code goes: the emulator looks there before it stops */
    return page_at(at) && page_at(at + (uint64_t)size - 1);
}

static void on_write(uc_engine *u, uc_mem_type type, uint64_t at, int size, int64_t value, void *context)
{
    (void)u, (void)type, (void)context;
    if (running->n_writes == WRITES)
        return;
    running->write[running->n_writes].at = at;
    running->write[running->n_writes].size = size;
    running->write[running->n_writes++].value = value;
}

/* A system call is made, and does nothing. Anything else is an instruction that the emulator does not know. */
static void on_interrupt(uc_engine *u, uint32_t number, void *context)
{
    (void)context;
    if (number == SYSTEM_CALL)
        return;
    strange = true;
    uc_emu_stop(u);
}

static bool code_at(uint64_t at, const void *bytes, size_t n)
{
    return page_at(at) && page_at(at + n - 1) && uc_mem_write(unicorn, at, bytes, n) == UC_ERR_OK;
}

/* Where a file is to begin. Nothing is run twice at one place, since the emulator would run what it has translated there before, and
 * Unicorn 2.0.1 dies of being told to forget it; when there is no place left there comes a new emulator. */
static uint64_t another_base(void)
{
    static unsigned used = BASES;
    uc_hook hook;

    if (used == BASES) {
        if (unicorn)
            uc_close(unicorn);
        if (uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &unicorn) != UC_ERR_OK ||
            uc_hook_add(unicorn, &hook, UC_HOOK_MEM_UNMAPPED, (void *)on_missing, NULL, 1, 0) != UC_ERR_OK ||
            uc_hook_add(unicorn, &hook, UC_HOOK_MEM_WRITE, (void *)on_write, NULL, 1, 0) != UC_ERR_OK ||
            uc_hook_add(unicorn, &hook, UC_HOOK_INTR, (void *)on_interrupt, NULL, 1, 0) != UC_ERR_OK)
            exit(2);
        used = 0;
    }
    return BASE + used++ * APART;
}

/* From `begin` on, until it is outside of n bytes of code that are put there. Every state number is another one, and the same each time. */
static bool execute(struct state *s, uint64_t begin, const void *code, size_t n, unsigned number)
{
    static const int special[] = {UC_ARM64_REG_SP, UC_ARM64_REG_PC, UC_ARM64_REG_NZCV};
    uint64_t values[3] = {(mix(77 + number) & 0x7fffffff0) | UINT64_C(0x3000000000), begin, mix(99 + number) & 0xf0000000};
    bool good;

    memset(s, 0, sizeof *s);
    running = s;
    for (unsigned i = 0; i < GENERAL; i++) { /* addresses, or nothing: branches are to go both ways */
        s->given[i] = number == 0 || mix(i * 8 + number) % 3 ? mix(i * 8 + number) & UINT64_C(0x7ffffffff0) : 0;
        uc_reg_write(unicorn, i < 29 ? UC_ARM64_REG_X0 + (int)i : i == 29 ? UC_ARM64_REG_X29 : UC_ARM64_REG_X30, &s->given[i]);
    }
    for (unsigned i = 0; i < VECTORS; i++) {
        uint64_t value[2] = {mix(1000 + i + number), mix(2000 + i + number)};
        uc_reg_write(unicorn, UC_ARM64_REG_Q0 + (int)i, value);
    }
    for (unsigned i = 0; i < 3; i++)
        uc_reg_write(unicorn, special[i], &values[i]);
    strange = false;
    good = code_at(begin, code, n);
    for (unsigned step = 0; good && step < n / A64_INSN + 1; step++) {
        uc_reg_read(unicorn, UC_ARM64_REG_PC, &s->pc);
        if (s->pc - begin >= n)
            break;
        good = uc_emu_start(unicorn, s->pc, 0, 0, 1) == UC_ERR_OK && !strange;
    }
    for (unsigned i = 0; i < GENERAL; i++)
        uc_reg_read(unicorn, i < 29 ? UC_ARM64_REG_X0 + (int)i : i == 29 ? UC_ARM64_REG_X29 : UC_ARM64_REG_X30, &s->general[i]);
    for (unsigned i = 0; i < VECTORS; i++)
        uc_reg_read(unicorn, UC_ARM64_REG_Q0 + (int)i, s->vector[i]);
    uc_reg_read(unicorn, UC_ARM64_REG_SP, &s->sp);
    uc_reg_read(unicorn, UC_ARM64_REG_NZCV, &s->flags);
    while (n_pages)
        uc_mem_unmap(unicorn, pages[--n_pages], PAGE);
    return good;
}

/* NULL, or in what they differ; x16 and x17 may, where the original has left them alone. */
static const char *compare(const struct state *a, const struct state *b)
{
    for (unsigned i = 0; i < GENERAL; i++)
        if (a->general[i] != b->general[i] && ((i != 16 && i != 17) || a->general[i] != a->given[i]))
            return "another register";
    if (a->pc != b->pc)
        return "another place";
    if (a->sp != b->sp || a->flags != b->flags || memcmp(a->vector, b->vector, sizeof a->vector) != 0)
        return "another stack pointer, flags or vector";
    if (a->n_writes != b->n_writes || memcmp(a->write, b->write, sizeof a->write) != 0)
        return "other memory";
    return NULL;
}

static void compare_moved(const char *name, const struct a64_move *m)
{
    for (unsigned number = 0; number < STATES; number++) {
        struct state original, copy;
        bool ran = execute(&original, m->from, m->code, m->n_head, number), same = execute(&copy, m->to, m->made, sizeof m->made, number);
        const char *what = ran && same ? compare(&original, &copy) : ran != same ? "one runs and one does not" : NULL;

        if (what)
            differ(name, what, m->code);
        if (!ran) {
            not_run++;
            return;
        }
    }
}

static const char *move(struct a64_move *m, uint64_t from, uint64_t distance)
{
    m->from = from;
    m->slot = (from - distance) & ~UINT64_C(15);
    m->to = m->slot + SLOT_MOVED;
    return a64_move(m);
}

static const char *compared(const char *name, struct a64_move *m, uint64_t address, uint64_t distance)
{
    const char *why = move(m, another_base() + address, distance);
    struct state head;

    if (!why)
        why = a64_check_body(m);
    if (why)
        return why;
    compare_moved(name, m);
    move(m, another_base() + address, distance);
    if (!execute(&head, m->from, m->head, m->n_head, 0) || head.pc != m->slot || head.n_writes)
        differ(name, "its begin does not lead to the trampoline", m->head);
    for (unsigned i = 0; i < GENERAL; i++)
        if (head.general[i] != head.given[i] && i != 16)
            differ(name, "its begin changes a register", m->head);
    return NULL;
}

static void function(const char *name, const unsigned char *code, size_t size, uint64_t address)
{
    struct a64_move m = {.code = code, .size = size, .guarded = address & 16};
    const char *why;

    walk(name, code, size, address);
    why = compared(name, &m, address, NEAR);
    moved += !why;
    if (why)
        walk_refuse(why);
    why = compared(name, &m, address, AFAR);
    moved_far += !why;
    for (int i = 0; why && i < 8; i++)
        if (!refused_far[i].why || strcmp(refused_far[i].why, why) == 0) {
            refused_far[i].why = why;
            refused_far[i].n++;
            break;
        }
}

int main(int argc, char **argv)
{
    if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &capstone) != CS_ERR_OK)
        return 2;
    cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
    walk_files(argc - 1, argv + 1, EM_AARCH64, function);
    printf("%lu bti, %lu paciasp; %lu words that Capstone does not know\n", new_kinds[0], new_kinds[1], only_ours);
    printf("%lu begins moved and alike with a trampoline afar; %lu, here and there, that the emulator cannot run\n", moved_far, not_run);
    for (int i = 0; i < 8 && refused_far[i].why; i++)
        printf("%8lu refused there: %s\n", refused_far[i].n, refused_far[i].why);
    return walk_end(instructions, moved);
}
