/* zydis FILE...: lib/insn_x86_64 against Zydis, over every function that the symbol tables of the files name.
 *
 * Of each function: it is read by both, up to the first instruction that one of them does not know, and all lengths must be the
 * same; its begin is moved to another place and must mean the same there, operand
 * by operand, as Zydis reads it. Prints how many functions were refused, and why. Exits with 1 at any difference. */
#include <Zydis/Zydis.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "insn_x86_64.h"
#include "walk.h"

static ZydisDecoder decoder;
static unsigned long instructions, moved, unknown, invalid;

static void differ(const char *name, const char *what, const unsigned char *code)
{
    walk_differ(name, what, code, INSN_MAX);
}

static int both(const unsigned char *code, size_t n, struct insn *i, ZydisDecodedInstruction *z)
{
    int ours = insn_read(i, code, n);
    ZyanStatus theirs = ZydisDecoderDecodeInstruction(&decoder, NULL, code, n, z);

    instructions++;
    if (ours)
        unknown += ZYAN_SUCCESS(theirs);
    else if (!ZYAN_SUCCESS(theirs))
        invalid++; /* data between functions; ours need not know that it is no instruction */
    else
        return i->length == z->length;
    return -1;
}

/* Lengths, and what ours says of where it goes. */
static void walk(const char *name, const unsigned char *code, size_t n)
{
    ZydisDecodedInstruction z;
    struct insn i;

    for (size_t at = 0; at < n; at += i.length) {
        int same = both(code + at, n - at, &i, &z);
        if (same < 0)
            return;
        if (!same)
            differ(name, "another length", code + at);
        int relative = z.attributes & ZYDIS_ATTRIB_IS_RELATIVE ? 1 : 0;
        if (relative != (i.target_at || i.rip_at))
            differ(name, "relative or not", code + at);
        int calls = z.meta.category == ZYDIS_CATEGORY_CALL;
        if (calls != (i.kind == INSN_CALLS || i.kind == INSN_CALLS_BY))
            differ(name, "a call or not", code + at);
        if (!same)
            return;
    }
}

static uint64_t absolute(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint64_t at)
{
    uint64_t value = 0;

    if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(z, o, at, &value)))
        return 0;
    return value;
}

/* The moved begin: the same instructions with the same operands, relative ones with the same absolute meaning. */
static void compare_moved(const char *name, const struct insn_move *m)
{
    ZydisDecodedInstruction a, b;
    ZydisDecodedOperand x[ZYDIS_MAX_OPERAND_COUNT], y[ZYDIS_MAX_OPERAND_COUNT];
    size_t from = 0, to = 0;

    while (from < m->taken) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, m->code + from, m->size - from, &a, x)) ||
            !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, m->made + to, m->n_made - to, &b, y)) ||
            a.mnemonic != b.mnemonic || a.operand_count != b.operand_count) {
            differ(name, "moved to another instruction", m->code + from);
            return;
        }
        int relative = a.attributes & ZYDIS_ATTRIB_IS_RELATIVE ? 1 : 0;
        if (!relative && (a.length != b.length || memcmp(m->code + from, m->made + to, a.length) != 0))
            differ(name, "changed though it is not relative", m->code + from);
        for (int i = 0; i < a.operand_count_visible; i++) {
            int same = x[i].type == y[i].type && absolute(&a, &x[i], m->from + from) == absolute(&b, &y[i], m->to + to);
            if (x[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
                same = same && x[i].reg.value == y[i].reg.value;
            if (x[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !x[i].imm.is_relative)
                same = same && x[i].imm.value.u == y[i].imm.value.u;
            if (x[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
                same = same && x[i].mem.base == y[i].mem.base && x[i].mem.index == y[i].mem.index && x[i].mem.scale == y[i].mem.scale;
            if (!same)
                differ(name, "moved to another meaning", m->code + from);
        }
        from += a.length;
        to += b.length;
    }
    ZydisDecodedOperand back[ZYDIS_MAX_OPERAND_COUNT];
    if (from != m->taken || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, m->made + to, m->n_made - to, &b, back)) ||
        b.mnemonic != ZYDIS_MNEMONIC_JMP || absolute(&b, &back[0], m->to + to) != m->from + m->taken || to + b.length != m->n_made)
        differ(name, "no way back behind it", m->code);
}

static void function(const char *name, const unsigned char *code, size_t size, uint64_t address)
{
    size_t skip = insn_is_endbr64(code, size) ? INSN_ENDBR64 : 0;
    struct insn_move m = {.code = code + skip, .size = size - skip, .from = address + skip,
                          .to = address + skip - 0x12345670 /* not a round distance, so that no byte of it may be lost */};
    const char *why;

    walk(name, code, size);
    why = insn_move(&m);
    if (!why)
        why = insn_check_body(code, size, address, m.from, m.from + m.taken);
    if (why) {
        walk_refuse(why);
        return;
    }
    moved++;
    compare_moved(name, &m);
}

int main(int argc, char **argv)
{
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    walk_files(argc - 1, argv + 1, EM_X86_64, function);
    printf("%8lu that only Zydis knows, %lu that only ours takes for an instruction\n", unknown, invalid);
    return walk_end(instructions, moved);
}
