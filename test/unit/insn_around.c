/* insn_around: who else goes into the first bytes of a function, and who only seems to. */
#include "insn_around.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

enum { SIZE = 16384, AT = 8192, LENGTH = 16, BASE = 0x400000 };
static unsigned char code[SIZE];

/* A function at AT whose first five bytes are to be overwritten: xor %eax,%eax; inc %eax; nop; and on to its end. All the
 * rest is `nop`. */
static const char *check(void)
{
    const struct insn_text text = {code, SIZE, BASE};

    return insn_check_around(&text, BASE + AT, LENGTH, BASE + AT, BASE + AT + 5);
}

static void fresh(void)
{
    memset(code, 0x90, sizeof code);
    memcpy(code + AT, "\x31\xc0\xff\xc0\x90", 5);
    code[AT + LENGTH - 1] = 0xc3;
}

/* Bytes at an offset, with the distance from their end to the target in their last `n` bytes. */
static void branch(size_t at, const char *opcode, size_t length, size_t n, size_t target)
{
    int32_t distance = (int32_t)(target - (at + length + n));

    memcpy(code + at, opcode, length);
    memcpy(code + at + length, &distance, n);
}

static const struct {
    size_t at;
    const char *opcode;
    size_t length, n, into; /* offset from the function's begin */
    bool refused;
} branches[] = {
    {AT - 20, "\xeb", 1, 1, 2, true},              /* jmp short, before it */
    {AT + 100, "\xeb", 1, 1, 4, true},             /* behind it */
    {AT + 100, "\x75", 1, 1, 1, true},             /* jnz */
    {AT + 60, "\xe3", 1, 1, 2, true},              /* jrcxz */
    {AT - 1000, "\xe9", 1, 4, 2, true},            /* jmp */
    {AT + 1000, "\x0f\x8f", 2, 4, 4, true},        /* jg */
    {AT + 1000, "\xe8", 1, 4, 4, true},            /* call into the middle */
    {AT - 20, "\xeb", 1, 1, 0, false},             /* to its begin: a tail call */
    {AT + 1000, "\xe9", 1, 4, 5, false},           /* behind what is overwritten */
    {AT - 1000, "\xe9", 1, 4, (size_t)-1, false},  /* before it */
    {AT - 21, "\x83\xc0\xeb", 3, 0, 0, false},     /* add $-21,%eax; the 0xeb is no branch, whatever follows */
    {AT - 30, "\xc7\xc0\x00\x00\xeb\x19", 6, 0, 0, false}, /* mov $0x19eb0000,%eax: 0xeb 0x19 would lead to AT + 1 */
    {AT + 4000, "\xe9", 1, 4, 2, false},           /* too far to be looked at, and not its own part */
};

START_TEST(branches_of_others)
{
    fresh();
    branch(branches[_i].at, branches[_i].opcode, branches[_i].length, branches[_i].n, AT + branches[_i].into);
    ck_assert_msg((check() != NULL) == branches[_i].refused, "%d: %s", _i, check());
}
END_TEST

/* je to a part far away, which comes back by its own ways. */
START_TEST(parts_that_come_back)
{
    fresh();
    branch(AT + 6, "\x0f\x84", 2, 4, 100);
    ck_assert_ptr_null(check());
    branch(100, "\xe9", 1, 4, AT + 5);
    ck_assert_ptr_null(check());
    branch(100, "\xe9", 1, 4, AT + 2);
    ck_assert_str_eq(check(), "something else seems to branch into its first bytes");
    /* in a second part, to which the first one goes */
    branch(100, "\x0f\x85", 2, 4, 15000);
    code[106] = 0xc3;
    ck_assert_ptr_null(check());
    branch(15000, "\xe9", 1, 4, AT + 2);
    ck_assert_ptr_nonnull(check());
    /* it ends before */
    code[14999] = code[15000] = 0xc3;
    ck_assert_ptr_null(check());
}
END_TEST

START_TEST(what_does_not_lie_in_the_text)
{
    const struct insn_text text = {code, SIZE, BASE};

    fresh();
    ck_assert_ptr_nonnull(insn_check_around(&text, BASE - 1, 16, BASE - 1, BASE + 4));
    ck_assert_ptr_nonnull(insn_check_around(&text, BASE + SIZE - 8, 16, BASE + SIZE - 8, BASE + SIZE - 3));
    ck_assert_ptr_null(insn_check_around(&text, BASE, 16, BASE, BASE + 5));
    ck_assert_ptr_null(insn_check_around(&text, BASE + SIZE - 16, 16, BASE + SIZE - 16, BASE + SIZE - 11));
}
END_TEST

/* Any bytes, in a text that ends where the memory does: a sanitizer sees a read outside. */
START_TEST(any_bytes_stay_in_their_bounds)
{
    unsigned seed = 7;

    for (int k = 0; k < 3000; k++) {
        size_t size = 20 + (seed >> 8 & 255), length, at;
        unsigned char *bytes = malloc(size);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
        const struct insn_text text = {bytes, size, BASE};
        at = (seed >> 8) % (size - 8);
        length = 8 + (seed >> 16) % (size - at - 7);
        (void)insn_check_around(&text, BASE + at, length, BASE + at, BASE + at + 5);
        free(bytes);
    }
}
END_TEST

/* The same where the code is aarch64's: paciasp; add w0, w0, #7; and on to its end, of which the first two are overwritten. */
static void word(size_t at, uint32_t w)
{
    memcpy(code + at, &w, sizeof w);
}

static void fresh_aarch64(void)
{
    for (size_t at = 0; at < SIZE; at += 4)
        word(at, 0xd503201f); /* nop */
    word(AT, 0xd503233f);
    word(AT + 4, 0x11001c00);
    word(AT + LENGTH - 4, 0xd65f03c0);
}

static const char *check_aarch64(size_t end)
{
    const struct insn_text text = {code, SIZE, BASE};

    return insn_check_around_aarch64(&text, BASE + AT, LENGTH, BASE + AT, BASE + AT + end);
}

static uint32_t distance(size_t at, size_t target, unsigned bits)
{
    return (uint32_t)((int64_t)(target - at) >> 2) & ((1U << bits) - 1);
}

static const struct {
    size_t at;
    uint32_t opcode;
    unsigned bits, shift;
    size_t into, end;
    bool refused;
} branches_aarch64[] = {
    {AT - 4, 0x14000000, 26, 0, 4, 8, true},      /* b, right before it */
    {AT + LENGTH, 0x14000000, 26, 0, 4, 8, true}, /* and right behind */
    {AT + 1000, 0x94000000, 26, 0, 4, 8, true},   /* bl into the middle */
    {AT - 1000, 0x54000001, 19, 5, 4, 8, true},   /* b.ne */
    {AT - 1000, 0xb5000003, 19, 5, 4, 8, true},   /* cbnz */
    {AT + 100, 0x36180000, 14, 5, 4, 8, true},    /* tbz */
    {AT + 100, 0x74000000, 9, 5, 4, 8, true},     /* cbgt */
    {AT + 100, 0x14000000, 26, 0, 0, 8, false},   /* to its begin: a tail call */
    {AT + 100, 0x14000000, 26, 0, 8, 8, false},   /* behind what is overwritten, */
    {AT + 100, 0x14000000, 26, 0, 8, 12, true},   /* but not behind what a longer jump takes */
    {AT + 100, 0x10000000, 19, 5, 4, 8, false},   /* adr goes nowhere */
    {AT + 4000, 0x14000000, 26, 0, 4, 8, false},  /* too far to be looked at, and not its own part */
};

START_TEST(branches_of_others_on_aarch64)
{
    size_t at = branches_aarch64[_i].at;

    fresh_aarch64();
    word(at, branches_aarch64[_i].opcode | distance(at, AT + branches_aarch64[_i].into, branches_aarch64[_i].bits) << branches_aarch64[_i].shift);
    ck_assert_msg((check_aarch64(branches_aarch64[_i].end) != NULL) == branches_aarch64[_i].refused, "%d", _i);
}
END_TEST

START_TEST(parts_that_come_back_on_aarch64)
{
    fresh_aarch64();
    word(AT + 8, 0x54000000 | distance(AT + 8, 100, 19) << 5); /* b.eq */
    ck_assert_ptr_null(check_aarch64(8));
    word(100, 0x14000000 | distance(100, AT + 8, 26));
    ck_assert_ptr_null(check_aarch64(8));
    word(100, 0x14000000 | distance(100, AT + 4, 26));
    ck_assert_str_eq(check_aarch64(8), "something else seems to branch into its first bytes");
    /* in a second part, to which the first one goes */
    word(100, 0xb4000000 | distance(100, 15000, 19) << 5);
    word(104, 0xd65f03c0);
    ck_assert_ptr_null(check_aarch64(8));
    word(15000, 0x14000000 | distance(15000, AT + 4, 26));
    ck_assert_ptr_nonnull(check_aarch64(8));
    /* what a call goes to is none */
    word(AT + 8, 0x94000000 | distance(AT + 8, 100, 26));
    ck_assert_ptr_null(check_aarch64(8));
}
END_TEST

START_TEST(any_bytes_stay_in_their_bounds_on_aarch64)
{
    unsigned seed = 11;

    for (int k = 0; k < 3000; k++) {
        size_t size = 20 + (seed >> 8 & 255), length, at;
        unsigned char *bytes = malloc(size);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> (i % 4 == 3 ? 24 : 16));
        const struct insn_text text = {bytes, size, BASE};
        at = (seed >> 8) % (size - 8) & ~(size_t)3;
        length = 8 + (seed >> 16) % (size - at - 7);
        (void)insn_check_around_aarch64(&text, BASE + at, length, BASE + at, BASE + at + 8);
        free(bytes);
    }
}
END_TEST

Suite *suite_insn_around(void)
{
    Suite *suite = suite_create("insn_around");
    TCase *c = tcase_create("insn_around");

    tcase_add_loop_test(c, branches_of_others, 0, sizeof branches / sizeof *branches);
    tcase_add_test(c, parts_that_come_back);
    tcase_add_test(c, what_does_not_lie_in_the_text);
    tcase_add_test(c, any_bytes_stay_in_their_bounds);
    tcase_add_loop_test(c, branches_of_others_on_aarch64, 0, sizeof branches_aarch64 / sizeof *branches_aarch64);
    tcase_add_test(c, parts_that_come_back_on_aarch64);
    tcase_add_test(c, any_bytes_stay_in_their_bounds_on_aarch64);
    suite_add_tcase(suite, c);
    return suite;
}
