#include "text.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../json.h"

static char buffer[256];
static struct text t;

static const char *fresh(void)
{
    text_init(&t, buffer, sizeof buffer);
    return buffer;
}

START_TEST(numbers_are_written_as_they_are)
{
    fresh();
    text_u64(&t, 0);
    text_char(&t, ' ');
    text_u64(&t, UINT64_MAX);
    text_char(&t, ' ');
    text_i64(&t, INT64_MIN);
    text_char(&t, ' ');
    text_pad(&t, 7, 3);
    text_char(&t, ' ');
    text_pad(&t, 12345, 3);
    ck_assert_str_eq(buffer, "0 18446744073709551615 -9223372036854775808 007 12345");
    ck_assert_uint_eq(t.len, strlen(buffer));
}
END_TEST

START_TEST(seconds_have_six_decimals)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0.000000"},
                 {412003000, "0.412003"},
                 {499, "0.000000"},
                 {500, "0.000001"},
                 {999999500, "1.000000"},
                 {-1500000000, "-1.500000"},
                 {-400, "0.000000"},
                 {INT64_C(3600000000000), "3600.000000"},
                 {INT64_MIN, "-9223372036.854776"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fresh();
        text_seconds(&t, cases[i].ns);
        ck_assert_str_eq(buffer, cases[i].text);
    }
}
END_TEST

START_TEST(amounts_are_rounded_to_nearest_and_never_to_nothing)
{
    static const struct {
        int64_t bytes;
        const char *mib, *amount;
    } cases[] = {{0, "0", "0 KiB"},
                 {(1 << 19) - 1, "0", "511 KiB"},
                 {1 << 19, "1", "512 KiB"},
                 {-(1 << 19), "-1", "-512 KiB"},
                 {-100, "0", "0 KiB"},
                 {1 << 20, "1", "1 MiB"},
                 {INT64_C(3828) << 20, "3828", "3828 MiB"},
                 {INT64_MIN, "-8796093022208", "-8796093022208 MiB"},
                 {INT64_MAX, "8796093022208", "8796093022208 MiB"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fresh();
        text_mib(&t, cases[i].bytes);
        ck_assert_str_eq(buffer, cases[i].mib);
        fresh();
        text_amount(&t, cases[i].bytes);
        ck_assert_str_eq(buffer, cases[i].amount);
    }
}
END_TEST

START_TEST(what_does_not_fit_is_left_out_and_said)
{
    char guard[8];

    for (size_t size = 1; size < sizeof guard; size++) {
        memset(guard, '#', sizeof guard);
        text_init(&t, guard, size);
        text_str(&t, "abc");
        text_u64(&t, 123456789);
        ck_assert_uint_eq(t.len, size - 1);
        ck_assert(t.cut);
        ck_assert_int_eq(memcmp(guard, "abc12345", size - 1), 0);
        ck_assert_int_eq(guard[size - 1], '\0');
        ck_assert_int_eq(guard[size], '#');
    }
}
END_TEST

START_TEST(printable_shows_controls_and_broken_bytes)
{
    fresh();
    text_printable(&t, "a\nb\x1b[31m\x7f\xc3\xa4\xc2\x9b\xff\xe2\x82", 100);
    ck_assert_str_eq(buffer, "a\\x0ab\\x1b[31m\\x7f\xc3\xa4\\xc2\\x9b\\xff\\xe2\\x82");
    fresh();
    text_printable(&t, "abcdef", 6);
    ck_assert_str_eq(buffer, "abcdef");
    fresh();
    text_printable(&t, "abcdefg", 6);
    ck_assert_str_eq(buffer, "abcdef...");
    fresh();
    text_printable(&t, "abcd\xe2\x82\xac", 6);
    ck_assert_str_eq(buffer, "abcd...");
    fresh();
    text_printable(&t, NULL, 6);
    ck_assert_str_eq(buffer, "");
}
END_TEST

START_TEST(json_strings_are_escaped)
{
    fresh();
    text_json(&t, "a\"b\\c\n\t\x01\x7f\xc2\x85\xc3\xa4\xf0\x9f\x98\x80", 100);
    ck_assert_str_eq(buffer, "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\\u0085\xc3\xa4\xf0\x9f\x98\x80\"");
    fresh();
    text_json(&t, NULL, 100);
    ck_assert_str_eq(buffer, "null");
}
END_TEST

START_TEST(json_replaces_what_is_not_utf8)
{
    /* a lone continuation, overlong '/', a surrogate, beyond U+10FFFF, a sequence cut off */
    static const char *const broken[] = {
        "\x80",     "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",    "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xe2\x82", "\xc3",     "\xfe",         "\xf0\x80\x80\x80"};

    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char expected[64] = "\"";
        for (size_t k = 0; k < strlen(broken[i]); k++)
            strcat(expected, "\xef\xbf\xbd");
        strcat(expected, "\"");
        fresh();
        text_json(&t, broken[i], 100);
        ck_assert_str_eq(buffer, expected);
    }
}
END_TEST

START_TEST(json_is_closed_wherever_it_is_cut)
{
    static const char s[] = "x\"\n\x01\xc3\xa4\xf0\x9f\x98\x80\xffz";
    char line[300];

    fresh();
    text_json(&t, s, 100);
    ck_assert(!t.cut);
    const size_t whole = t.len;
    for (size_t limit = 2; limit < 40; limit++)
        for (size_t size = 3; size < 40; size++) {
            text_init(&t, buffer, size);
            text_json(&t, s, limit);
            ck_assert_uint_le(t.len, limit);
            (void)snprintf(line, sizeof line, "{\"k\":%s}\n", buffer);
            ck_assert_msg(json_line(line), "limit %zu, size %zu: %s", limit, size, line);
            ck_assert_int_eq(t.cut, t.len < whole);
        }
    text_init(&t, buffer, 2);
    text_json(&t, s, 40);
    ck_assert_str_eq(buffer, "");
    ck_assert(t.cut);
}
END_TEST

START_TEST(errors_have_their_names)
{
    static const struct {
        int error;
        const char *name;
    } cases[] = {{EACCES, "EACCES"}, {EINVAL, "EINVAL"}, {ECANCELED, "ECANCELED"},
                 {4095, "4095"},     {0, "0"},           {-1, "-1"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fresh();
        text_errno(&t, cases[i].error);
        ck_assert_str_eq(buffer, cases[i].name);
    }
    for (int e = 1; e < 134; e++) { /* no name of ours may differ from libc's */
        fresh();
        text_errno(&t, e);
        if (buffer[0] == 'E')
            ck_assert_str_eq(buffer, strerrorname_np(e));
    }
}
END_TEST

Suite *suite_text(void)
{
    const TTest *const tests[] = {numbers_are_written_as_they_are,
                                  seconds_have_six_decimals,
                                  amounts_are_rounded_to_nearest_and_never_to_nothing,
                                  what_does_not_fit_is_left_out_and_said,
                                  printable_shows_controls_and_broken_bytes,
                                  json_strings_are_escaped,
                                  json_replaces_what_is_not_utf8,
                                  json_is_closed_wherever_it_is_cut,
                                  errors_have_their_names,
                                  NULL};

    return unit_suite("text", tests);
}
