#include "insn_x86_64.h"

#include <errno.h>
#include <string.h>

/* What follows an opcode, a letter each, sixteen opcodes a row:
 * .  nothing            m  ModRM              x  not known, or no instruction
 * b  imm8               B  ModRM, imm8        w  imm16
 * z  imm32 (imm16 with prefix 66)             Z  ModRM, imm32 (likewise)
 * v  imm64 with REX.W, else as z              o  address of 8 bytes (4 with prefix 67)
 * e  imm16, imm8        r  rel8               R  rel32
 * g  ModRM, imm8 if its reg is 0 or 1         G  ModRM, imm32 likewise */
static const char insn_one[] =
    "mmmmbzxxmmmmbzxx" /* 00; 0f is the way to the second table */
    "mmmmbzxxmmmmbzxx"
    "mmmmbzxxmmmmbzxx" /* 20; 26, 2e, 36, 3e are prefixes */
    "mmmmbzxxmmmmbzxx"
    "xxxxxxxxxxxxxxxx" /* 40: REX, which is read before */
    "................"
    "xxxmxxxxzZbB...." /* 60; 62 EVEX, 64 to 67 prefixes */
    "rrrrrrrrrrrrrrrr"
    "BZxBmmmmmmmmmmmm" /* 80 */
    "..........x....."
    "oooo....bz......" /* a0 */
    "bbbbbbbbvvvvvvvv"
    "BBw.xxBZe.w..bx." /* c0; c4, c5 VEX */
    "mmmmxxx.mmmmmmmm"
    "rrrrbbbbRRxr...." /* e0 */
    "x.xx..gG......mm";
static const char insn_two[] = /* behind 0f */
    "mmmmx....xx.xm.B"
    "mmmmmmmmmmmmmmmm"
    "mmmmxxxxmmmmmmmm" /* 20 */
    "......x.xxxxxxxx" /* 38, 3a are the ways to further tables */
    "mmmmmmmmmmmmmmmm" /* 40 */
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm" /* 60 */
    "BBBBmmm.xxxxmmmm"
    "RRRRRRRRRRRRRRRR" /* 80 */
    "mmmmmmmmmmmmmmmm"
    "...mBmxx...mBmmm" /* a0 */
    "mmmmmmmmmmBmmmmm"
    "mmBmBBBm........" /* c0 */
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm" /* e0 */
    "mmmmmmmmmmmmmmmm";

enum insn_map { INSN_ONE, INSN_0F, INSN_0F38, INSN_0F3A, INSN_EVEX5 = 5, INSN_EVEX6 };

/* An instruction while it is being read. */
struct insn_state {
    const unsigned char *code;
    size_t n, at;
    bool short_operand, short_address, wide; /* prefixes 66 and 67, REX.W */
    bool vector;                             /* VEX or EVEX */
    enum insn_map map;
    unsigned char opcode, modrm;
};

/* More bytes than there are leave `at` behind the end, which is looked at once, at last. */
static unsigned char insn_byte(struct insn_state *s)
{
    unsigned char c = s->at < s->n ? s->code[s->at] : 0;

    s->at++;
    return c;
}

/* VEX and EVEX: prefix, table and opcode; W does not change a length, nor does a prefix stand before. */
static int insn_read_vector(struct insn_state *s, unsigned char first)
{
    unsigned char next = insn_byte(s);

    if (s->short_operand || s->wide)
        return -EILSEQ;
    s->vector = true;
    if (first == 0xc5) {
        s->map = INSN_0F;
    } else {
        s->map = (enum insn_map)(next & (first == 0xc4 ? 0x1f : 7));
        if (first == 0x62) {
            unsigned char second = insn_byte(s);
            if (next & 8 || !(second & 4)) /* APX makes use of both */
                return -EILSEQ;
        }
        insn_byte(s);
    }
    if (s->map == INSN_ONE || (int)s->map == 4 || s->map > INSN_EVEX6 || (first == 0xc4 && s->map > INSN_0F3A))
        return -EILSEQ;
    s->opcode = insn_byte(s);
    return 0;
}

/* Prefixes and opcode. */
static int insn_read_opcode(struct insn_state *s)
{
    unsigned char c;

    for (;;) {
        c = insn_byte(s);
        if (c == 0x66)
            s->short_operand = true;
        else if (c == 0x67)
            s->short_address = true;
        else if (c != 0xf0 && c != 0xf2 && c != 0xf3 && c != 0x2e && c != 0x36 && c != 0x3e && c != 0x26 && c != 0x64 && c != 0x65)
            break;
        if (s->at > INSN_MAX)
            return -EILSEQ;
    }
    if ((c & 0xf0) == 0x40) {
        s->wide = c & 8;
        c = insn_byte(s);
        if (c == 0xc4 || c == 0xc5 || c == 0x62)
            return -EILSEQ;
    }
    if (c == 0xc4 || c == 0xc5 || c == 0x62)
        return insn_read_vector(s, c);
    if (c == 0x0f) {
        c = insn_byte(s);
        s->map = c == 0x38 ? INSN_0F38 : c == 0x3a ? INSN_0F3A : INSN_0F;
        if (s->map != INSN_0F)
            c = insn_byte(s);
    }
    s->opcode = c;
    return 0;
}

static char insn_layout(const struct insn_state *s)
{
    switch (s->map) {
    case INSN_ONE: return insn_one[s->opcode];
    case INSN_0F:
        if (!s->vector)
            return insn_two[s->opcode];
        return s->opcode == 0x77 ? '.' : insn_two[s->opcode] == 'B' && s->opcode > 0x0f && s->opcode != 0xba ? 'B' : 'm';
    case INSN_0F3A: return 'B';
    default: return 'm';
    }
}

/* ModRM, what belongs to it, and whether it counts from the instruction's end. */
static void insn_read_modrm(struct insn_state *s, struct insn *i)
{
    unsigned mod, rm;

    s->modrm = insn_byte(s);
    mod = s->modrm >> 6;
    rm = s->modrm & 7;
    if (mod == 3)
        return;
    if (rm == 4 && (insn_byte(s) & 7) == 5 && mod == 0)
        s->at += 4;
    if (mod == 0 && rm == 5)
        i->rip_at = (unsigned)s->at;
    if (mod == 1)
        s->at += 1;
    else if (mod == 2 || i->rip_at)
        s->at += 4;
}

static size_t insn_operand(const struct insn_state *s)
{
    return s->short_operand && !s->wide ? 2 : 4;
}

/* What follows the ModRM. */
static int insn_read_immediate(struct insn_state *s, struct insn *i, char layout)
{
    unsigned reg = s->modrm >> 3 & 7;

    switch (layout) {
    case 'b': case 'B': s->at += 1; break;
    case 'w': s->at += 2; break;
    case 'e': s->at += 3; break;
    case 'z': case 'Z': s->at += insn_operand(s); break;
    case 'v': s->at += s->wide ? 8 : insn_operand(s); break;
    case 'o': s->at += s->short_address ? 4 : 8; break;
    case 'g': s->at += reg < 2; break;
    case 'G': s->at += reg < 2 ? insn_operand(s) : 0; break;
    case 'r': case 'R':
        /* With 66 the processors of two makers disagree about how long the target is. */
        if (s->short_operand && !s->wide)
            return -EILSEQ;
        i->target_at = (unsigned)s->at;
        i->target_size = layout == 'r' ? 1 : 4;
        s->at += i->target_size;
        break;
    default: break;
    }
    return 0;
}

static int insn_classify(const struct insn_state *s, struct insn *i)
{
    unsigned reg = s->modrm >> 3 & 7;

    if (s->map == INSN_ONE && !s->vector) {
        switch (s->opcode) {
        case 0xe9: case 0xeb: i->kind = INSN_GOES; return 0;
        case 0xe8: i->kind = INSN_CALLS; return 0;
        case 0xe0: case 0xe1: case 0xe2: case 0xe3: i->kind = INSN_NEAR; return 0;
        case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcf: case 0xf4: i->kind = INSN_ENDS; return 0;
        case 0xcc: i->kind = INSN_TRAPS; return 0;
        case 0x8f: return reg ? -EILSEQ : 0; /* XOP */
        case 0xc6: return reg == 0 || s->modrm == 0xf8 ? 0 : -EILSEQ;
        case 0xc7:
            if (s->modrm != 0xf8)
                return reg ? -EILSEQ : 0;
            i->kind = INSN_NEAR; /* xbegin */
            return 0;
        case 0xff:
            if (reg == 7)
                return -EILSEQ;
            i->kind = reg == 2 || reg == 3 ? INSN_CALLS_BY : reg == 4 || reg == 5 ? INSN_ENDS : INSN_PLAIN;
            return 0;
        default:
            if (s->opcode >= 0x70 && s->opcode <= 0x7f)
                i->kind = INSN_MAY_GO;
            return 0;
        }
    }
    if (s->map == INSN_0F && !s->vector) {
        if (s->opcode >= 0x80 && s->opcode <= 0x8f)
            i->kind = INSN_MAY_GO;
        else if (s->opcode == 0x0b || s->opcode == 0x07 || s->opcode == 0xff || s->opcode == 0xb9)
            i->kind = s->opcode == 0xb9 ? INSN_PLAIN : INSN_ENDS;
        /* vmread; with 66 or f2 two of AMD's that have immediates */
        return (s->opcode == 0x78 || s->opcode == 0x79) ? -EILSEQ : 0;
    }
    return 0;
}

int insn_read(struct insn *i, const unsigned char *code, size_t n)
{
    struct insn_state s = {.code = code, .n = n};
    char layout;

    memset(i, 0, sizeof *i);
    if (insn_read_opcode(&s))
        return s.at > n ? -ENODATA : -EILSEQ;
    layout = insn_layout(&s);
    if (layout == 'x')
        return s.at > n ? -ENODATA : -EILSEQ;
    if (strchr("mBZgG", layout))
        insn_read_modrm(&s, i);
    if (insn_read_immediate(&s, i, layout) || insn_classify(&s, i))
        return -EILSEQ;
    if (i->kind == INSN_NEAR && !i->target_at) { /* xbegin: what was read as an operand is its target */
        if (insn_operand(&s) != 4)
            return -EILSEQ;
        i->target_at = (unsigned)s.at - 4;
        i->target_size = 4;
    }
    if (s.at > n)
        return s.at > INSN_MAX ? -EILSEQ : -ENODATA;
    if (s.at > INSN_MAX || (i->rip_at && s.short_address))
        return -EILSEQ;
    i->length = (unsigned)s.at;
    return 0;
}

uint64_t insn_target(const struct insn *i, const unsigned char *code, uint64_t address)
{
    int32_t distance = (int8_t)code[i->target_at];

    if (i->target_size == 4)
        memcpy(&distance, code + i->target_at, sizeof distance);
    return address + i->length + (uint64_t)(int64_t)distance;
}

bool insn_is_endbr64(const unsigned char *code, size_t n)
{
    return n >= INSN_ENDBR64 && memcmp(code, "\xf3\x0f\x1e\xfa", INSN_ENDBR64) == 0;
}

/* Four bytes that say how far `target` is from `behind`. false: too far. */
static bool insn_put_distance(unsigned char *at, uint64_t target, uint64_t behind)
{
    int64_t distance = (int64_t)(target - behind);
    int32_t small = (int32_t)distance;

    memcpy(at, &small, sizeof small);
    return small == distance;
}

static const char insn_too_far[] = "what its first bytes refer to is too far from any free place";

/* One instruction to the end of the copy. */
static const char *insn_move_one(struct insn_move *m, const struct insn *i)
{
    const unsigned char *code = m->code + m->taken;
    unsigned char *made = m->made + m->n_made;
    uint64_t from = m->from + m->taken, to = m->to + m->n_made;
    size_t n = i->length;

    if (i->kind == INSN_CALLS || i->kind == INSN_CALLS_BY)
        return "there is a call in its first bytes";
    if (i->kind == INSN_NEAR)
        return "there is a branch in its first bytes that reaches no further than where it stands";
    if (i->kind == INSN_TRAPS)
        return "there is a breakpoint in its first bytes";
    if (i->target_at) {
        uint64_t target = insn_target(i, code, from);
        size_t opcode = 0;

        if (i->kind == INSN_MAY_GO) {
            made[opcode++] = 0x0f;
            made[opcode++] = (unsigned char)(0x80 | (code[i->target_at - 1] & 0x0f));
        } else {
            made[opcode++] = 0xe9;
        }
        n = opcode + 4;
        if (!insn_put_distance(made + opcode, target, to + n))
            return insn_too_far;
    } else {
        memcpy(made, code, n);
        if (i->rip_at) {
            int32_t distance;
            memcpy(&distance, code + i->rip_at, sizeof distance);
            if (!insn_put_distance(made + i->rip_at, from + n + (uint64_t)(int64_t)distance, to + n))
                return insn_too_far;
        }
    }
    m->taken += i->length;
    m->n_made += n;
    return NULL;
}

const char *insn_move(struct insn_move *m)
{
    struct insn i = {.kind = INSN_PLAIN};
    const char *why;

    m->taken = m->n_made = 0;
    while (m->taken < INSN_JUMP) {
        int error = m->taken < m->size ? insn_read(&i, m->code + m->taken, m->size - m->taken) : -ENODATA;

        if (m->taken >= m->size || error == -ENODATA)
            return "it is shorter than a jump";
        if (error)
            return "there is an instruction in its first bytes that is not known";
        why = insn_move_one(m, &i);
        if (why)
            return why;
        if ((i.kind == INSN_ENDS || i.kind == INSN_GOES) && m->taken < INSN_JUMP)
            return "it ends, or goes elsewhere, before there is room for a jump";
    }
    m->made[m->n_made] = 0xe9;
    if (!insn_put_distance(m->made + m->n_made + 1, m->from + m->taken, m->to + m->n_made + INSN_JUMP))
        return insn_too_far;
    m->n_made += INSN_JUMP;
    return NULL;
}

const char *insn_check_body(const unsigned char *code, size_t size, uint64_t from, uint64_t patched, uint64_t end)
{
    struct insn i;

    for (size_t at = 0; at < size; at += i.length) {
        if (insn_read(&i, code + at, size - at))
            return "there is an instruction in it that is not known";
        if (!i.target_at)
            continue;
        uint64_t target = insn_target(&i, code + at, from + at);
        if (target >= from && target < end && (i.kind != INSN_CALLS || (target != from && target != patched)))
            return "it branches back into its own first bytes";
    }
    return NULL;
}

const char *insn_detour(struct insn_move *m, const unsigned char *code, size_t size, uint64_t at, uint64_t to)
{
    size_t skip = insn_is_endbr64(code, size) ? INSN_ENDBR64 : 0;
    const char *why;

    m->code = code + skip;
    m->size = size - skip;
    m->from = at + skip;
    m->to = to;
    why = insn_move(m);
    return why ? why : insn_check_body(code, size, at, m->from, m->from + m->taken);
}
