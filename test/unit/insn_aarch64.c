/* What Capstone and Unicorn cannot say (scripts/check-insn compares with them): what is refused, landing pads, instructions that are
 * newer than they are, and that no bytes at all lead out of the buffers. */
#include "insn_aarch64.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define FROM UINT64_C(0x10000000)
#define NEAR UINT64_C(0x12345600)
#define AFAR UINT64_C(0x50000000)
#define SLOT_MOVED 32

#define RET 0xd65f03c0u
#define NOP 0xd503201fu
#define BTI_C 0xd503245fu
#define PACIASP 0xd503233fu

/* Why the begin of these n instructions is not moved (NULL: it is). */
static const char *move(struct a64_move *m, const uint32_t *code, size_t n, uint64_t slot)
{
    *m = (struct a64_move){.code = (const unsigned char *)code, .size = n * A64_INSN, .from = FROM, .slot = slot, .to = slot + SLOT_MOVED};
    return a64_detour(m);
}
#define MOVE(m, slot, ...) move((m), (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / A64_INSN, (slot))

static void words_are(const unsigned char *bytes, const uint32_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t word;

        memcpy(&word, bytes + i * A64_INSN, sizeof word);
        ck_assert_msg(word == words[i], "word %zu is %08x, not %08x", i, word, words[i]);
    }
}
#define WORDS_ARE(bytes, ...) words_are((bytes), (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / A64_INSN)

START_TEST(a_landing_pad_stays)
{
    struct a64_move m;

    ck_assert_ptr_null(MOVE(&m, NEAR, NOP, RET));
    ck_assert_uint_eq(m.n_head, 4);
    ck_assert_uint_eq(m.patched, FROM);
    WORDS_ARE(m.head, a64_branch(FROM, NEAR));
    WORDS_ARE(m.made, NOP, a64_branch(NEAR + SLOT_MOVED + 4, FROM + 4));

    ck_assert_ptr_null(MOVE(&m, NEAR, BTI_C, NOP, RET));
    ck_assert_uint_eq(m.n_head, 8);
    ck_assert_uint_eq(m.patched, FROM + 4);
    WORDS_ARE(m.head, BTI_C, a64_branch(FROM + 4, NEAR));
    WORDS_ARE(m.made, NOP, a64_branch(NEAR + SLOT_MOVED + 4, FROM + 8));

    /* signs in the callee, where its return address is */
    ck_assert_ptr_null(MOVE(&m, NEAR, PACIASP, NOP, RET));
    ck_assert_uint_eq(m.n_head, 8);
    ck_assert_uint_eq(m.patched, FROM);
    WORDS_ARE(m.head, BTI_C, a64_branch(FROM + 4, NEAR));
    WORDS_ARE(m.made, PACIASP, NOP, a64_branch(NEAR + SLOT_MOVED + 8, FROM + 8));
    ck_assert_ptr_null(MOVE(&m, NEAR, 0xd503237f /* pacibsp */, NOP, RET));
    WORDS_ARE(m.head, BTI_C, a64_branch(FROM + 4, NEAR));
}
END_TEST

START_TEST(what_a_branch_does_not_reach_is_reached_by_a_register)
{
    static const uint32_t code[] = {NOP, NOP, NOP, RET};
    struct a64_move m;

    ck_assert_ptr_null(move(&m, code, 4, AFAR));
    ck_assert_uint_eq(m.n_head, A64_FAR);
    WORDS_ARE(m.head, 0x90200010 /* adrp x16, 0x50000000 */, 0x91000210 /* add x16, x16, #0 */, 0xd61f0200 /* br x16 */);
    WORDS_ARE(m.made, NOP, NOP, NOP, 0x58000271 /* ldr x17, . + 76 */, 0xd61f0220 /* br x17 */);
    WORDS_ARE(m.made + A64_MOVED_MAX - 8, (uint32_t)FROM + A64_FAR, 0);
    m.guarded = true;
    ck_assert_ptr_null(a64_move(&m));
    WORDS_ARE(m.made, NOP, NOP, NOP, 0x58000271, 0xd65f0220 /* ret x17 */);
    ck_assert_str_eq(MOVE(&m, AFAR, NOP, NOP), "it is shorter than a jump");
    ck_assert_str_eq(MOVE(&m, AFAR, NOP, RET, NOP), "it ends, or goes elsewhere, before there is room for a jump");
    ck_assert_str_eq(MOVE(&m, AFAR, 0xd2800011 /* mov x17, #0 */, NOP, NOP), "its first bytes may use a register that the way there from afar needs");
    ck_assert_str_eq(MOVE(&m, AFAR, 0xa9404500 /* ldp x0, x17, [x8] */, NOP, NOP), "its first bytes may use a register that the way there from afar needs");
    ck_assert_str_eq(MOVE(&m, AFAR, NOP, BTI_C, NOP), "it branches back into its own first bytes");
}
END_TEST

START_TEST(begins_that_cannot_be_moved)
{
    static const struct { uint32_t word; const char *why; } cases[] = {
        {0x94000010, "there is a call in its first bytes"},                   /* bl */
        {0xd63f0000, "there is a call in its first bytes"},                   /* blr x0 */
        {0xd73f0801, "there is a call in its first bytes"},                   /* blraa x0, x1 */
        {0xd4200000, "there is a breakpoint in its first bytes"},             /* brk #0 */
        {0x00000000, "there is a breakpoint in its first bytes"},             /* udf #0 */
        {0x17ffffff, NULL},                                                   /* b to somewhere before it */
        {0x54000000, "it branches back into its own first bytes"},            /* b.eq . */
        {0x74000060, "there is a branch in its first bytes that reaches no further than where it stands"}, /* cbgt w0, w0, . + 12 */
    };
    static const uint32_t bound[] = {
        0x0420bc20, 0x04112483, /* movprfx z0, z1; movprfx z3.b, p1/m, z4.b */
        0xd50324ff,             /* pacm */
        0xf38000bf, 0xf3a000bf, /* autiasppc, autibsppc */
        0xdac1a3fe, 0xdac183fe, /* paciasppc, pacnbiasppc */
        0x5500001f, 0xd65f0be0, /* retaasppc, retaasppcr x0 */
        0x19010440, 0x1d010440, 0x19c10440, /* cpyfp, cpyp, setp */
        0xd5233060,             /* tstart x0 */
        0xdc000000,             /* ldr (literal), unallocated */
        0xd69f03e0, 0xd4400001, /* eret; not a hlt */
        0x02000000, 0x06000000, 0x01000000,
    };
    static const uint32_t plain[] = {NOP, RET};
    struct a64_move m;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = MOVE(&m, NEAR, cases[i].word, NOP, NOP, RET);
        ck_assert_msg(why == cases[i].why || (why && cases[i].why && strcmp(why, cases[i].why) == 0), "%08x: %s", cases[i].word, why ? why : "moved");
    }
    for (size_t i = 0; i < sizeof bound / sizeof *bound; i++) {
        const char *why = MOVE(&m, NEAR, bound[i], NOP, NOP, RET);
        ck_assert_msg(why && strstr(why, "not known, or bound"), "%08x: %s", bound[i], why ? why : "moved");
    }
    ck_assert_str_eq(MOVE(&m, NEAR, BTI_C), "it is shorter than a jump");
    ck_assert_str_eq(move(&m, NULL, 0, NEAR), "it is shorter than a jump");
    m.code = (const unsigned char *)plain;
    m.size = sizeof plain;
    m.from++;
    ck_assert_ptr_nonnull(a64_move(&m));
}
END_TEST

START_TEST(a_function_that_comes_back_to_its_begin_is_refused)
{
    static const uint32_t back[] = {0x17fffffe, 0x54ffffc0, 0xb4ffffc0, 0x37ffffc0, 0x74ffffc0}; /* b, b.eq, cbz, tbnz, cbgt: . - 8 */
    struct a64_move m;

    for (size_t i = 0; i < sizeof back / sizeof *back; i++) {
        ck_assert_str_eq(MOVE(&m, NEAR, NOP, NOP, back[i], RET), "it branches back into its own first bytes");
        ck_assert_ptr_null(MOVE(&m, NEAR, NOP, NOP, NOP, back[i], RET)); /* behind them */
        ck_assert_str_eq(MOVE(&m, NEAR, PACIASP, NOP, NOP, back[i], RET), "it branches back into its own first bytes");
        ck_assert_str_eq(MOVE(&m, AFAR, NOP, NOP, NOP, back[i], RET), "it branches back into its own first bytes");
    }
    ck_assert_ptr_null(MOVE(&m, NEAR, NOP, NOP, 0x97fffffe /* bl . - 8 */, RET)); /* a call of itself is a call like any other */
    ck_assert_str_eq(MOVE(&m, AFAR, NOP, NOP, NOP, 0x97fffffe, RET), "it branches back into its own first bytes");
}
END_TEST

START_TEST(a_branch_that_the_copy_does_not_reach)
{
    struct a64_move m;

    /* b 128 MiB on, from a copy 35 MiB before it */
    ck_assert_ptr_null(MOVE(&m, NEAR, 0x15ffffff, RET));
    ck_assert_str_eq(MOVE(&m, FROM - 0x2345600, 0x15ffffff, RET), "what its first bytes refer to is too far from any free place");
    ck_assert(a64_is_near(FROM, FROM + A64_BRANCH - 4, 0) && !a64_is_near(FROM, FROM + A64_BRANCH, 0));
    ck_assert(a64_is_near(FROM + A64_BRANCH - 4, FROM, 0) && !a64_is_near(FROM, FROM + A64_BRANCH - 4, 4));
}
END_TEST

/* By a branch from near, by an address from afar. */
START_TEST(where_a_copy_goes)
{
    const uint64_t slots[] = {NEAR, AFAR};
    struct a64_move m;

    for (size_t i = 0; i < 2; i++) {
        uint64_t at = slots[i] + SLOT_MOVED;
        ck_assert_ptr_null(MOVE(&m, slots[i], NOP, NOP, 0x14000100 /* b . + 1024 */, NOP, RET));
        ck_assert(a64_enters(m.made, at, FROM + 1024, FROM + 1040) == (slots[i] == AFAR)); /* where the third is moved too */
        ck_assert_ptr_null(MOVE(&m, slots[i], 0x54002000 /* b.eq . + 1024 */, NOP, NOP, NOP, RET));
        ck_assert(a64_enters(m.made, at, FROM + 1020, FROM + 1028));
        ck_assert(!a64_enters(m.made, at, FROM + 1024, FROM + 1032)); /* that is to call it */
        ck_assert(!a64_enters(m.made, at, FROM + 1020, FROM + 1024));
    }
}
END_TEST

START_TEST(any_bytes_stay_in_their_bounds)
{
    unsigned seed = 1;

    for (int k = 0; k < 200000; k++) {
        size_t n = (seed >> 8) % 30;
        unsigned char *code = malloc(n + !n); /* exactly: a sanitizer sees a read behind it */
        struct a64_move m = {.code = code, .size = n, .from = FROM, .slot = seed & 64 ? NEAR : AFAR, .guarded = seed & 128};

        for (size_t b = 0; b < n; b++)
            code[b] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
        seed = seed * 1103515245 + 12345;
        m.to = m.slot + SLOT_MOVED;
        if (!a64_move(&m))
            ck_assert(m.n_head >= A64_INSN && m.n_head <= A64_HEAD_MAX && m.n_head <= n && (m.n_head % A64_INSN) == 0);
        a64_check_body(&m);
        free(code);
    }
}
END_TEST

Suite *suite_insn_aarch64(void)
{
    const TTest *const tests[] = {a_landing_pad_stays, what_a_branch_does_not_reach_is_reached_by_a_register, begins_that_cannot_be_moved,
                                  a_function_that_comes_back_to_its_begin_is_refused, a_branch_that_the_copy_does_not_reach,
                                  where_a_copy_goes, any_bytes_stay_in_their_bounds, NULL};
    return unit_suite("insn_aarch64", tests);
}
