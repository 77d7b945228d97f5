/* What Zydis cannot say (scripts/check-insn compares with it): what is refused, what is read of too few bytes, and that no bytes at
 * all lead out of the buffer. */
#include "insn_x86_64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define BYTES(s) (const unsigned char *)(s), sizeof(s) - 1

START_TEST(an_instruction_that_does_not_end_is_none)
{
    struct insn i;

    ck_assert_int_eq(insn_read(&i, BYTES("\x48\x8b\x05\x01\x02\x03\x04")), 0); /* mov 0x4030201(%rip),%rax */
    ck_assert_uint_eq(i.length, 7);
    ck_assert_uint_eq(i.rip_at, 3);
    for (size_t n = 0; n < 7; n++)
        ck_assert_int_eq(insn_read(&i, (const unsigned char *)"\x48\x8b\x05\x01\x02\x03\x04", n), -ENODATA);
}
END_TEST

START_TEST(what_is_not_known_is_refused)
{
    static const struct { const char *bytes; size_t n; } cases[] = {
        {"\x06\0\0\0", 4},             /* push %es: not in 64-bit mode */
        {"\x62\xf4\x7c\x18\x01\xc0", 6}, /* APX */
        {"\xd5\x00\x01\xc0", 4},       /* REX2 */
        {"\x8f\xe8\x78\xa2\xc0\0", 6}, /* XOP */
        {"\x66\xe9\0\0\0\0\0\0", 8},   /* a target of 2 or of 4 bytes, as the maker pleases */
        {"\x67\x8b\x05\0\0\0\0", 7},   /* from eip */
        {"\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 16}, /* 16 bytes */
        {"\x0f\x04\0\0", 4},
    };
    struct insn i;

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        ck_assert_msg(insn_read(&i, (const unsigned char *)cases[k].bytes, cases[k].n) == -EILSEQ, "case %zu is read", k);
}
END_TEST

/* The bytes of a function, and why its begin is not moved (NULL: it is). */
static const char *move(const unsigned char *code, size_t n, uint64_t to)
{
    struct insn_move m = {.code = code, .size = n, .from = 0x1000000, .to = to};
    const char *why = insn_move(&m);

    ck_assert(why || (m.taken >= INSN_JUMP && m.n_made >= m.taken && m.n_made <= INSN_MOVED_MAX));
    return why ? why : insn_check_body(code, n, m.from, m.from, m.from + m.taken);
}

START_TEST(begins_that_cannot_be_moved)
{
    ck_assert_ptr_null(move(BYTES("\x55\x48\x89\xe5\x31\xc0\x5d\xc3"), 0x2000000));
    ck_assert_str_eq(move(BYTES("\x55\xe8\0\0\0\0\xc3"), 0x2000000), "there is a call in its first bytes");
    ck_assert_str_eq(move(BYTES("\x55\xff\xd0\x90\x90\xc3"), 0x2000000), "there is a call in its first bytes");
    ck_assert_str_eq(move(BYTES("\x31\xc0\xc3"), 0x2000000), "it ends, or goes elsewhere, before there is room for a jump");
    ck_assert_str_eq(move(BYTES("\x31\xc0\x90"), 0x2000000), "it is shorter than a jump");
    ck_assert_str_eq(move(BYTES("\x31\xc0\xcc\x90\x90\xc3"), 0x2000000), "there is a breakpoint in its first bytes");
    ck_assert_str_eq(move(BYTES("\x48\x8b\x05\0\0\0\0\xc3"), UINT64_C(0x100000000)), "what its first bytes refer to is too far from any free place");
    ck_assert_str_eq(move(BYTES("\x31\xc0\xff\xc0\xff\xcf\x75\xfa\xc3"), 0x2000000), "it branches back into its own first bytes");
    ck_assert_str_eq(move(BYTES("\x31\xc0\x90\x90\x90\x90\xeb\xf8\xc3"), 0x2000000), "it branches back into its own first bytes");
    /* a call of itself is a call like any other */
    ck_assert_ptr_null(move(BYTES("\x31\xc0\x90\x90\x90\xe8\xf6\xff\xff\xff\xc3"), 0x2000000));
}
END_TEST

START_TEST(a_short_branch_is_widened)
{
    struct insn_move m = {.code = (const unsigned char *)"\x85\xff\x74\x10\x31\xc0\xc3", .size = 7, .from = 0x1000000, .to = 0x2000000};

    ck_assert_ptr_null(insn_move(&m));
    ck_assert_uint_eq(m.taken, 6);
    ck_assert_uint_eq(m.n_made, 2 + 6 + 2 + 5);
    /* je 0x1000014 from behind 0x2000008; jmp 0x1000006 from behind 0x200000f */
    ck_assert_mem_eq(m.made, "\x85\xff\x0f\x84\x0c\x00\x00\xff\x31\xc0\xe9\xf7\xff\xff\xfe", 15);
}
END_TEST

START_TEST(any_bytes_stay_in_their_bounds)
{
    unsigned seed = 1;

    for (int k = 0; k < 200000; k++) {
        unsigned char *code = malloc(20); /* exactly: a sanitizer sees a read behind it */
        struct insn i;
        size_t n;

        for (int b = 0; b < 20; b++)
            code[b] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
        n = seed >> 8 & 15;
        unsigned char *end = memmove(code + 20 - n, code, n);
        if (insn_read(&i, end, n) == 0)
            ck_assert(i.length <= n && i.length >= 1 && i.rip_at + (i.rip_at ? 4 : 0) <= i.length && i.target_at + i.target_size <= i.length);
        move(end, n, 0x2000000);
        free(code);
    }
}
END_TEST

Suite *suite_insn(void)
{
    const TTest *const tests[] = {an_instruction_that_does_not_end_is_none, what_is_not_known_is_refused, begins_that_cannot_be_moved,
                                         a_short_branch_is_widened, any_bytes_stay_in_their_bounds, NULL};
    return unit_suite("insn", tests);
}
