#include "line.h"
#include "unit.h"

#include <string.h>

static struct line l;
static char label[EVENT_LABEL_MAX];

static size_t feed(const char *bytes)
{
    return line_feed(&l, bytes, strlen(bytes), label);
}

START_TEST(a_line_may_come_in_pieces)
{
    strcpy(label, "before");
    ck_assert_uint_eq(feed("weight "), 0);
    ck_assert_str_eq(label, "before");
    ck_assert_uint_eq(feed("load\nsecond\nthi"), 2);
    ck_assert_str_eq(label, "second");
    ck_assert_uint_eq(feed("rd"), 0);
    ck_assert_uint_eq(feed("\n"), 1);
    ck_assert_str_eq(label, "third");
    ck_assert_uint_eq(feed("\n"), 1);
    ck_assert_str_eq(label, "");
}
END_TEST

START_TEST(what_is_no_text_is_no_label)
{
    static const char *const junk[] = {"a\tb\n", "\x1b[31m\n", "\xff\n", "a\xc3\n", "\x7f\n", "\xc2\x9b" "31m\n", "a\r\n"};

    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
        strcpy(label, "before");
        ck_assert_uint_eq(feed(junk[i]), 1);
        ck_assert_str_eq(label, "");
    }
    ck_assert_uint_eq(line_feed(&l, "a\0b\n", 4, label), 1);
    ck_assert_str_eq(label, "");
    ck_assert_uint_eq(feed("good\n"), 1);
    ck_assert_str_eq(label, "good");
}
END_TEST

START_TEST(a_long_line_is_cut_at_a_whole_character)
{
    char expected[EVENT_LABEL_MAX];

    memset(expected, 'x', sizeof expected);
    strcpy(expected + 60, "...");
    for (int i = 0; i < 1000; i++) /* 1 MB without an end costs nothing */
        ck_assert_uint_eq(feed("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), 0);
    ck_assert_uint_eq(feed("\n"), 1);
    ck_assert_str_eq(label, expected);
    memset(expected, 'x', sizeof expected);
    expected[63] = '\0'; /* the longest that is whole */
    ck_assert_uint_eq(feed(expected), 0);
    ck_assert_uint_eq(feed("\n"), 1);
    ck_assert_str_eq(label, expected);
    strcpy(expected + 59, "...");
    (void)feed("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xc3\xa4yyyyyyyyyyyy\n");
    ck_assert_str_eq(label, expected);
}
END_TEST

Suite *suite_line(void)
{
    const TTest *const tests[] = {a_line_may_come_in_pieces, what_is_no_text_is_no_label, a_long_line_is_cut_at_a_whole_character, NULL};

    memset(&l, 0, sizeof l);
    return unit_suite("line", tests);
}
