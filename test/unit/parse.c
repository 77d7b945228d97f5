#include "parse.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int signal_of(const char *s)
{
    const char *expected = NULL;
    int number = parse_signal(s, strlen(s), &expected);

    ck_assert_ptr_nonnull(expected);
    return number;
}

START_TEST(switches)
{
    static const struct {
        const char *word;
        int value;
    } cases[] = {{"0", 0},        {"off", 0},      {"no", 0},         {"false", 0},   {"OFF", 0},    {"False", 0},
                 {"1", 1},        {"on", 1},       {"yes", 1},        {"true", 1},    {"Yes", 1},    {"", -EINVAL},
                 {"00", -EINVAL}, {"of", -EINVAL}, {"offf", -EINVAL}, {"2", -EINVAL}, {"n", -EINVAL}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(parse_switch(cases[i].word, strlen(cases[i].word)) == cases[i].value, "\"%s\"", cases[i].word);
    ck_assert_int_eq(parse_switch("offx", 3), 0);
}
END_TEST

START_TEST(every_signal_has_a_name_that_leads_back)
{
    for (int number = 1; number < 32; number++) {
        char name[32], numeral[8];
        bool refused =
            strchr((const char[]){SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, 0}, number);
        ck_assert_ptr_nonnull(parse_signal_name(number));
        ck_assert_str_eq(parse_signal_name(number), number == SIGIO ? "IO" : sigabbrev_np(number));
        (void)snprintf(name, sizeof name, "%s", parse_signal_name(number));
        ck_assert_int_eq(signal_of(name), refused ? -EINVAL : number);
        (void)snprintf(name, sizeof name, "sig%s", parse_signal_name(number));
        ck_assert_int_eq(signal_of(name), refused ? -EINVAL : number);
        (void)snprintf(numeral, sizeof numeral, "%d", number);
        ck_assert_int_eq(signal_of(numeral), refused ? -EINVAL : number);
    }
    ck_assert_ptr_null(parse_signal_name(0));
    ck_assert_ptr_null(parse_signal_name(SIGRTMIN));
}
END_TEST

START_TEST(further_names_of_signals)
{
    static const struct {
        const char *name;
        int number;
    } cases[] = {{"none", 0},        {"NONE", 0},       {"IOT", SIGABRT}, {"SIGIOT", SIGABRT}, {"POLL", SIGIO},
                 {"CLD", SIGCHLD},   {"usr1", SIGUSR1}, {"01", 1},        {"64", 64},          {"RTMIN", 34},
                 {"SIGRTMIN", 34},   {"rtmin+3", 37},   {"RTMIN+30", 64}, {"RTMAX", 64},       {"RTMAX-30", 34},
                 {"SIGRTMAX-1", 63}, {"RTMIN+00", 34}};
    static const char *const bad[] = {"",         "0",         "65",      "-1",      "+1",
                                      "1x",       "100",       "FOO",     "SIG",     "SIGSIGHUP",
                                      "RTMIN+31", "RTMAX-31",  "RTMIN-1", "RTMAX+1", "RTMIN+",
                                      "RTMIN+x",  "RTMIN+100", "RTMINX",  "USR",     "USR11",
                                      "SIGnone",  "32",        "33",      "USR1 ",   "18446744073709551617"};

    ck_assert_int_eq(SIGRTMIN, 34); /* the table above is glibc's */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(signal_of(cases[i].name) == cases[i].number, "\"%s\"", cases[i].name);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(signal_of(bad[i]) == -EINVAL, "\"%s\"", bad[i]);
}
END_TEST

START_TEST(a_refused_signal_is_refused_with_its_reason)
{
    static const struct {
        const char *name, *word;
    } cases[] = {{"KILL", "caught"},  {"19", "caught"}, {"SEGV", "fault"},
                 {"SIGSYS", "fault"}, {"32", "libc"},   {"FOO", "RTMAX-n"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *expected = "";
        ck_assert_int_eq(parse_signal(cases[i].name, strlen(cases[i].name), &expected), -EINVAL);
        ck_assert_msg(strstr(expected, cases[i].word) != NULL, "%s: %s", cases[i].name, expected);
    }
}
END_TEST

START_TEST(lists_are_taken_apart)
{
    const char *list = " ,;a, b;;c\td\n", *item, *all = list;
    char seen[16] = "";
    size_t n;

    while (parse_item(&list, &item, &n)) {
        ck_assert_uint_eq(n, 1);
        strncat(seen, item, n);
    }
    ck_assert_str_eq(seen, "abcd");
    ck_assert_ptr_eq(list, all + strlen(all));
    ck_assert(!parse_item(&list, &item, &n));
}
END_TEST

/* The definition, by recursion. */
static unsigned distance(const char *a, const char *b)
{
    if (!*a || !*b)
        return (unsigned)(strlen(a) + strlen(b));
    unsigned change = distance(a + 1, b + 1) + (*a != *b), drop = distance(a + 1, b) + 1, add = distance(a, b + 1) + 1;
    unsigned least = drop < add ? drop : add;

    return change < least ? change : least;
}

START_TEST(distances_agree_with_their_definition)
{
    char a[8], b[8];

    srandom(1);
    for (int run = 0; run < 3000; run++) {
        size_t n = (size_t)random() % 6, m = (size_t)random() % 6;
        for (size_t i = 0; i < n; i++)
            a[i] = (char)('A' + random() % 3);
        for (size_t i = 0; i < m; i++)
            b[i] = (char)('A' + random() % 3);
        a[n] = b[m] = '\0';
        ck_assert_uint_eq(parse_distance(a, n, b, m), distance(a, b));
    }
    ck_assert_uint_eq(parse_distance("signl", 5, "SIGNAL", 6), 1);
    ck_assert_uint_eq(parse_distance("x", 1, "0123456789012345678901234", 25), PARSE_FAR);
    ck_assert_uint_eq(parse_distance("", 0, "012345678901234567890123", 24), 24);
    ck_assert_uint_eq(parse_distance("aBcdefghijklmnopqrstuvwx", 24, "abcdefghijklmnopqrstuvwx", 24), 0);
    ck_assert_uint_eq(parse_distance("az", 2, "AZ", 2), 0);
}
END_TEST

START_TEST(sizes_and_times)
{
    static const struct {
        const char *text;
        int64_t size, time;
    } cases[] = {{"1", 1, 1000000000},
                 {"500ms", -EINVAL, 500000000},
                 {"2s", -EINVAL, 2000000000},
                 {"3m", 3 << 20, INT64_C(180000000000)},
                 {"3M", 3 << 20, INT64_C(180000000000)},
                 {"1h", -EINVAL, INT64_C(3600000000000)},
                 {"64MiB", 64 << 20, -EINVAL},
                 {"64mb", 64 << 20, -EINVAL},
                 {"4G", INT64_C(4) << 30, -EINVAL},
                 {"4K", 4096, -EINVAL},
                 {"1T", INT64_C(1) << 40, -EINVAL},
                 {"4194304T", INT64_C(1) << 62, -EINVAL},
                 {"4194305T", -EINVAL, -EINVAL},
                 {"1281023h", -EINVAL, INT64_C(1281023) * INT64_C(3600000000000)},
                 {"1281024h", -EINVAL, -EINVAL},
                 {"99999999999999999999", -EINVAL, -EINVAL},
                 {"9223372036854775808", -EINVAL, -EINVAL},
                 {"", -EINVAL, -EINVAL},
                 {"0", -EINVAL, -EINVAL},
                 {"0s", -EINVAL, -EINVAL},
                 {"-1", -EINVAL, -EINVAL},
                 {"+1", -EINVAL, -EINVAL},
                 {"1.5G", -EINVAL, -EINVAL},
                 {"G", -EINVAL, -EINVAL},
                 {"1KK", -EINVAL, -EINVAL},
                 {"1 G", -EINVAL, -EINVAL},
                 {"1Gi", -EINVAL, -EINVAL},
                 {"5sec", -EINVAL, -EINVAL}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].text);
        ck_assert_msg(parse_size(cases[i].text, n) == cases[i].size, "size \"%s\"", cases[i].text);
        ck_assert_msg(parse_time(cases[i].text, n) == cases[i].time, "time \"%s\"", cases[i].text);
    }
    ck_assert_int_eq(parse_size("12", 1), 1);
}
END_TEST

Suite *suite_parse(void)
{
    const TTest *const tests[] = {switches,
                                  every_signal_has_a_name_that_leads_back,
                                  further_names_of_signals,
                                  a_refused_signal_is_refused_with_its_reason,
                                  lists_are_taken_apart,
                                  distances_agree_with_their_definition,
                                  sizes_and_times,
                                  NULL};

    return unit_suite("parse", tests);
}
