#include "match.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct match m;
static struct match_stream stream;

static void texts(const char *const *list)
{
    memset(&m, 0, sizeof m);
    memset(&stream, 0, sizeof stream);
    for (; *list; list++)
        ck_assert_int_eq(match_add(&m, *list), 0);
}

static uint32_t feed(const char *data)
{
    return match_feed(&m, &stream, data, strlen(data));
}

START_TEST(a_text_is_found_wherever_it_stands)
{
    texts((const char *const[]){"load finished", "x", "ready", NULL});
    ck_assert_uint_eq(feed("nothing of it\n"), 0);
    ck_assert_uint_eq(feed("load finished\n"), 1);
    ck_assert_uint_eq(feed("the load finished"), 1);
    ck_assert_uint_eq(feed("x"), 2);
    ck_assert_uint_eq(feed("ready load finished x\nready\n"), 7);
    ck_assert_uint_eq(feed("Ready, load  finished\n"), 0);
}
END_TEST

START_TEST(a_text_is_found_across_pieces)
{
    texts((const char *const[]){"load finished", "aab", NULL});
    ck_assert_uint_eq(feed("the load fin"), 0);
    ck_assert_uint_eq(feed(""), 0);
    ck_assert_uint_eq(feed("i"), 0);
    ck_assert_uint_eq(feed("shed\n"), 1);
    ck_assert_uint_eq(feed("aa"), 0);
    ck_assert_uint_eq(feed("aaaab load finished"), 3);
    ck_assert_uint_eq(feed("\n"), 0);
    ck_assert_uint_eq(feed("load fin\n"), 0); /* it would have to stand in one line */
    ck_assert_uint_eq(feed("ished\n"), 0);
}
END_TEST

START_TEST(two_streams_are_two)
{
    struct match_stream other = {0};

    texts((const char *const[]){"load finished", NULL});
    ck_assert_uint_eq(feed("load "), 0);
    ck_assert_uint_eq(match_feed(&m, &other, "finished\n", 9), 0);
    ck_assert_uint_eq(feed("finished\n"), 1);
}
END_TEST

START_TEST(what_is_no_text_is_refused)
{
    char longest[MATCH_TEXT_MAX + 2];

    memset(&m, 0, sizeof m);
    memset(longest, 'a', sizeof longest);
    longest[MATCH_TEXT_MAX + 1] = '\0';
    ck_assert_int_ne(match_add(&m, ""), 0);
    ck_assert_int_ne(match_add(&m, "a\nb"), 0);
    ck_assert_int_ne(match_add(&m, longest), 0);
    longest[MATCH_TEXT_MAX] = '\0';
    for (int i = 0; i < MATCH_TEXTS; i++)
        ck_assert_int_eq(match_add(&m, longest), 0);
    ck_assert_int_ne(match_add(&m, "a"), 0);
    memset(&stream, 0, sizeof stream);
    ck_assert_uint_eq(match_feed(&m, &stream, longest, 200), 0);
    ck_assert_uint_eq(match_feed(&m, &stream, longest, 55), (1U << MATCH_TEXTS) - 1);
}
END_TEST

/* What a piece completes, looked for the slow way: texts that end in data[from] ... data[to - 1]. */
static uint32_t ends_in(char (*list)[8], unsigned n, const char *data, size_t from, size_t to)
{
    uint32_t found = 0;

    for (unsigned t = 0; t < n; t++)
        for (size_t end = from + 1; end <= to; end++)
            if (end >= strlen(list[t]) && memcmp(data + end - strlen(list[t]), list[t], strlen(list[t])) == 0)
                found |= 1U << t;
    return found;
}

START_TEST(every_split_of_a_stream_finds_the_same)
{
    static char list[MATCH_TEXTS][8], data[200];
    unsigned random = (unsigned)_i + 1;
    const char *pointers[MATCH_TEXTS + 1];

    for (int round = 0; round < 2000; round++) {
        unsigned n = 1 + (unsigned)rand_r(&random) % MATCH_TEXTS;
        for (unsigned t = 0; t < n; t++) {
            size_t length = 1 + (size_t)rand_r(&random) % 7;
            for (size_t k = 0; k < length; k++)
                list[t][k] = (char)('a' + rand_r(&random) % 3);
            list[t][length] = '\0';
            pointers[t] = list[t];
        }
        pointers[n] = NULL;
        texts(pointers);
        for (size_t k = 0; k < sizeof data; k++)
            data[k] = "aaabbbccc\n"[rand_r(&random) % 10];
        for (size_t from = 0, to; from < sizeof data; from = to) {
            to = from + (size_t)rand_r(&random) % 20;
            if (to > sizeof data)
                to = sizeof data;
            ck_assert_uint_eq(match_feed(&m, &stream, data + from, to - from), ends_in(list, n, data, from, to));
        }
    }
}
END_TEST

Suite *suite_match(void)
{
    Suite *s = suite_create("match");
    TCase *t = tcase_create("match");
    tcase_add_test(t, a_text_is_found_wherever_it_stands);
    tcase_add_test(t, a_text_is_found_across_pieces);
    tcase_add_test(t, two_streams_are_two);
    tcase_add_test(t, what_is_no_text_is_refused);
    tcase_add_loop_test(t, every_split_of_a_stream_finds_the_same, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
