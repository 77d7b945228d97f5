#include "options.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LONG "0123456789012345678901234567890123456789012345678901234567890123"

static struct settings s;
static char lines[8][512];
static unsigned n_lines;

static void keep(void *context, const char *line)
{
    ck_assert_ptr_eq(context, &s);
    ck_assert_uint_lt(n_lines, 8);
    (void)snprintf(lines[n_lines++], sizeof lines[0], "%s", line);
}

static void read_all(char *const *environment)
{
    n_lines = 0;
    memset(&s, 0x5a, sizeof s);
    options_read(&s, environment, keep, &s);
    for (unsigned i = 0; i < n_lines; i++)
        ck_assert_msg(!strchr(lines[i], '\n'), "%s", lines[i]);
}

/* One variable: what was complained of, or "". */
static const char *read_one(const char *assignment)
{
    char *environment[] = {(char[]){"PATH=/bin"}, (char *)(size_t)assignment, NULL};

    read_all(environment);
    ck_assert_uint_le(n_lines, 1);
    return n_lines ? lines[0] : "";
}

START_TEST(nothing_set_means_the_defaults_of_the_table)
{
    char *const empty[] = {NULL};
    char *const blank[] = {(char[]){"GIVEBACK="},      (char[]){"GIVEBACK_SIGNAL= "}, (char[]){"GIVEBACK_LOG="},
                           (char[]){"GIVEBACK_ONLY="}, (char[]){"GIVEBACK_CALL=\t"},  NULL};
    char *const *const all[] = {NULL, empty, blank};

    for (size_t i = 0; i < 3; i++) {
        read_all(all[i]);
        ck_assert_uint_eq(n_lines, 0);
        ck_assert(s.on && !s.json && !s.full_detail && !s.drop_children);
        ck_assert_int_eq(s.signal, SIGUSR1);
        ck_assert_int_eq(s.log, OPTION_LOG_STDERR);
        ck_assert_str_eq(s.only, "");
        ck_assert_str_eq(s.skip, "");
        ck_assert_str_eq(s.call, "");
        ck_assert(!options_off(all[i]));
    }
}
END_TEST

START_TEST(every_default_is_a_value_that_is_taken)
{
    for (unsigned id = 0; id < OPTION_COUNT; id++) {
        char buffer[256];
        struct text line;
        text_init(&line, buffer, sizeof buffer);
        ck_assert_msg(options_set(&s, (enum option_id)id, option_table[id].preset, &line) == 0, "%s", buffer);
        ck_assert_msg(strncmp(option_table[id].variable, OPTION_PREFIX, strlen(OPTION_PREFIX)) == 0, "%s",
                      option_table[id].variable);
        ck_assert(option_table[id].help[0] && option_table[id].argument[0]);
    }
}
END_TEST

START_TEST(good_values_are_taken)
{
    char *const environment[] = {(char[]){"GIVEBACK=Yes"},
                                 (char[]){"GIVEBACK_SIGNAL= sigrtmin+2 "},
                                 (char[]){"GIVEBACK_LOG=logs/%n.%p%%"},
                                 (char[]){"GIVEBACK_FORMAT=JSON"},
                                 (char[]){"GIVEBACK_DETAIL=full"},
                                 (char[]){"GIVEBACK_ONLY=redis-* ; nginx"},
                                 (char[]){"GIVEBACK_SKIP=[a-c]*"},
                                 (char[]){"GIVEBACK_CHILDREN=drop"},
                                 (char[]){"GIVEBACK_CALL=mkl_free_buffers, libfoo-*.so.[12]:foo_trim$x"},
                                 (char[]){"GIVEBACK_METRICS=m/%n.prom"},
                                 NULL};

    read_all(environment);
    ck_assert_msg(n_lines == 0, "%s", lines[0]);
    ck_assert(s.on && s.json && s.full_detail && s.drop_children);
    ck_assert_int_eq(s.signal, SIGRTMIN + 2);
    ck_assert_int_eq(s.log, OPTION_LOG_PATH);
    ck_assert_str_eq(s.log_path, "logs/%n.%p%%");
    ck_assert_str_eq(s.only, "redis-*,nginx");
    ck_assert_str_eq(s.skip, "[a-c]*");
    ck_assert_str_eq(s.call, "mkl_free_buffers,libfoo-*.so.[12]:foo_trim$x");
    ck_assert_str_eq(s.metrics_path, "m/%n.prom");
    /* Nothing points into the environment: a host overwrites it (setproctitle). */
    for (char *const *e = environment; *e; e++)
        memset(*e, '#', strlen(*e));
    ck_assert_str_eq(s.log_path, "logs/%n.%p%%");
}
END_TEST

START_TEST(a_bad_value_is_one_line_with_its_place)
{
    static const char *const cases[][2] = {
        {"GIVEBACK=maybe", "GIVEBACK: \"maybe\" at 1: expected on or off (also 1, yes, true; 0, no, false)"},
        {"GIVEBACK_SIGNAL=FOO",
         "GIVEBACK_SIGNAL: \"FOO\" at 1: expected a signal's name, RTMIN+n, RTMAX-n, a number from 1 to 64, or none"},
        {"GIVEBACK_SIGNAL=  KILL",
         "GIVEBACK_SIGNAL: \"KILL\" at 3: expected a signal that can be caught, which KILL and STOP cannot"},
        {"GIVEBACK_FORMAT=xml", "GIVEBACK_FORMAT: \"xml\" at 1: expected text or json"},
        {"GIVEBACK_DETAIL=some", "GIVEBACK_DETAIL: \"some\" at 1: expected auto or full"},
        {"GIVEBACK_CHILDREN=kee\np\x1b[31m", "GIVEBACK_CHILDREN: \"kee\\x0ap\\x1b[31m\" at 1: expected keep or drop"},
        {"GIVEBACK_LOG=/tmp/%n%d",
         "GIVEBACK_LOG: \"%d\" at 8: expected %p (process id), %n (program's name) or %% in a path"},
        {"GIVEBACK_METRICS=/tmp/%n%d.prom",
         "GIVEBACK_METRICS: \"%d\" at 8: expected %p (process id), %n (program's name) or %% in a path"},
        {"GIVEBACK_METRICS=/run/", "GIVEBACK_METRICS: \"/run/\" at 1: expected the path of a file, not of a folder"},
        {"GIVEBACK_LOG=/tmp/%",
         "GIVEBACK_LOG: \"%\" at 6: expected %p (process id), %n (program's name) or %% in a path"},
        {"GIVEBACK_LOG=/tmp/",
         "GIVEBACK_LOG: \"/tmp/\" at 1: expected stderr, none, or the path of a file, not of a folder"},
        {"GIVEBACK_SKIP=,;", "GIVEBACK_SKIP: \",;\" at 1: expected GLOB,..."},
        {"GIVEBACK_SKIP=a,/bin/b",
         "GIVEBACK_SKIP: \"/bin/b\" at 3: expected a glob over the program's name, without folders"},
        {"GIVEBACK_SKIP=[ab", "GIVEBACK_SKIP: \"[ab\" at 1: expected a ] for each ["},
        {"GIVEBACK_SKIP=ab\\", "GIVEBACK_SKIP: \"ab\\\" at 1: expected a character behind the backslash"},
        {"GIVEBACK_CALL=9x", "GIVEBACK_CALL: \"9x\" at 1: expected [OBJECT:]SYMBOL with SYMBOL the name of a function"},
        {"GIVEBACK_CALL=a;:b",
         "GIVEBACK_CALL: \":b\" at 3: expected [OBJECT:]SYMBOL with SYMBOL the name of a function"},
        {"GIVEBACK_CALL=a:", "GIVEBACK_CALL: \"a:\" at 1: expected [OBJECT:]SYMBOL with SYMBOL the name of a function"},
        {"GIVEBACK_CALL=/lib/x.so:f",
         "GIVEBACK_CALL: \"/lib/x.so:f\" at 1: expected [OBJECT:]SYMBOL with OBJECT a glob over libraries' base names"},
        {"GIVEBACK_CALL=a()",
         "GIVEBACK_CALL: \"a()\" at 1: expected [OBJECT:]SYMBOL with SYMBOL the name of a function"},
        {"GIVEBACK_CALL=a:b:c",
         "GIVEBACK_CALL: \"a:b:c\" at 1: expected [OBJECT:]SYMBOL with SYMBOL the name of a function"},
        {"GIVEBACK_FORMAT=" LONG,
         "GIVEBACK_FORMAT: \"012345678901234567890123456789012345678901234567890123456789...\" at 1: expected text or "
         "json"},
        {"GIVEBACK_SIGNL=USR1", "GIVEBACK_SIGNL: no such variable, expected GIVEBACK_SIGNAL"},
        {"GIVEBACK_signal=USR1", "GIVEBACK_signal: no such variable, expected GIVEBACK_SIGNAL"},
        {"GIVEBACK_NOTHING=1",
         "GIVEBACK_NOTHING: no such variable, expected one of those that `giveback options` lists"},
        {"GIVEBACK_=1", "GIVEBACK_: no such variable, expected one of those that `giveback options` lists"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_str_eq(read_one(cases[i][0]), cases[i][1]);
        /* and the defaults stay */
        ck_assert(s.on && !s.json && !s.full_detail && !s.drop_children);
        ck_assert_int_eq(s.signal, SIGUSR1);
        ck_assert_int_eq(s.log, OPTION_LOG_STDERR);
    }
}
END_TEST

START_TEST(what_is_not_ours_is_not_complained_of)
{
    static const char *const others[] = {
        "GIVEBACKS=1", "MY_GIVEBACK_SIGNL=1", "giveback_signl=1", "GIVEBACK_X", "", "=", "GIVE=1"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_str_eq(read_one(others[i]), "");
}
END_TEST

START_TEST(bad_items_go_and_good_ones_stay)
{
    ck_assert_str_eq(
        read_one("GIVEBACK_CALL=good, 1x ,lib*:fine;x-y::z"),
        "GIVEBACK_CALL: \"1x\" at 7: expected [OBJECT:]SYMBOL with SYMBOL the name of a function (and 1 more)");
    ck_assert_str_eq(s.call, "good,lib*:fine");
    ck_assert_str_eq(read_one("GIVEBACK_SKIP=[]a],[!b],\\[c,[\\]d"), "");
    ck_assert_str_eq(s.skip, "[]a],[!b],\\[c,[\\]d");
    ck_assert_str_eq(read_one("GIVEBACK_SKIP=x,[]"), "GIVEBACK_SKIP: \"[]\" at 3: expected a ] for each [");
    /* With a wrong glob dropped, ONLY would be empty and the library active everywhere. */
    read_one("GIVEBACK_ONLY=/usr/bin/redis");
    ck_assert_uint_eq(n_lines, 1);
    ck_assert_str_eq(s.only, "/usr/bin/redis");
}
END_TEST

START_TEST(the_first_of_two_wins_as_with_getenv)
{
    char *const environment[] = {(char[]){"GIVEBACK_SIGNAL=USR2"}, (char[]){"GIVEBACK_SIGNAL=nonsense"},
                                 (char[]){"GIVEBACK=off"}, (char[]){"GIVEBACK=on"}, NULL};

    read_all(environment);
    ck_assert_uint_eq(n_lines, 0);
    ck_assert_int_eq(s.signal, SIGUSR2);
    ck_assert(!s.on);
    ck_assert(options_off(environment));
}
END_TEST

START_TEST(off_is_recognised_at_once_and_nothing_else)
{
    static const struct {
        const char *assignment;
        bool off;
    } cases[] = {{"GIVEBACK=0", true},   {"GIVEBACK=off", true},  {"GIVEBACK= No ", true}, {"GIVEBACK=FALSE", true},
                 {"GIVEBACK=1", false},  {"GIVEBACK=foo", false}, {"GIVEBACK=", false},    {"GIVEBACK", false},
                 {"GIVEBACKX=0", false}, {"GIVEBACK_=0", false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *environment[] = {(char *)(size_t)cases[i].assignment, NULL};
        ck_assert_msg(options_off(environment) == cases[i].off, "%s", cases[i].assignment);
    }
}
END_TEST

START_TEST(logs_go_where_they_are_sent)
{
    static const struct {
        const char *assignment;
        enum option_log log;
    } cases[] = {{"GIVEBACK_LOG=stderr", OPTION_LOG_STDERR},
                 {"GIVEBACK_LOG=/dev/stderr", OPTION_LOG_STDERR},
                 {"GIVEBACK_LOG=none", OPTION_LOG_NONE},
                 {"GIVEBACK_LOG=./none", OPTION_LOG_PATH},
                 {"GIVEBACK_LOG=x y", OPTION_LOG_PATH}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_str_eq(read_one(cases[i].assignment), "");
        ck_assert_int_eq(s.log, cases[i].log);
        if (s.log == OPTION_LOG_PATH)
            ck_assert_str_eq(s.log_path, cases[i].assignment + strlen("GIVEBACK_LOG="));
    }
}
END_TEST

START_TEST(values_may_be_512_bytes_and_no_longer)
{
    char log[600] = "GIVEBACK_LOG=", call[1200] = "GIVEBACK_CALL=";

    memset(log + strlen(log), 'x', OPTION_VALUE_MAX);
    ck_assert_str_eq(read_one(log), "");
    ck_assert_uint_eq(strlen(s.log_path), OPTION_VALUE_MAX);
    strcat(log, "y");
    ck_assert_str_eq(read_one(log), "GIVEBACK_LOG: \"y\" at 513: expected at most 512 characters");
    ck_assert_int_eq(s.log, OPTION_LOG_STDERR);
    memset(call + strlen(call), 'f', OPTION_VALUE_MAX);
    ck_assert_str_eq(read_one(call), "");
    ck_assert_uint_eq(strlen(s.call), OPTION_VALUE_MAX);
    call[strlen("GIVEBACK_CALL=")] = '\0';
    /* of a list what fits stays */
    for (int i = 0; i < 8; i++)
        strcat(strcat(call, "f" LONG), ",");
    ck_assert_str_eq(read_one(call),
                     "GIVEBACK_CALL: \"f01234567890123456789012345678901234567890123456789012345678...\" at 463: "
                     "expected at most 512 characters in all");
    ck_assert_uint_eq(strlen(s.call), 7 * 66 - 1);
}
END_TEST

START_TEST(signals_are_named)
{
    static const struct {
        int number;
        const char *name;
    } cases[] = {{0, "none"},     {SIGUSR1, "USR1"}, {SIGABRT, "ABRT"}, {34, "RTMIN"},
                 {37, "RTMIN+3"}, {64, "RTMIN+30"},  {33, "33"},        {65, "65"}};
    char buffer[16];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(options_signal_name(cases[i].number, buffer, sizeof buffer), cases[i].name);
}
END_TEST

Suite *suite_options(void)
{
    const TTest *const tests[] = {nothing_set_means_the_defaults_of_the_table,
                                  every_default_is_a_value_that_is_taken,
                                  good_values_are_taken,
                                  a_bad_value_is_one_line_with_its_place,
                                  what_is_not_ours_is_not_complained_of,
                                  bad_items_go_and_good_ones_stay,
                                  the_first_of_two_wins_as_with_getenv,
                                  off_is_recognised_at_once_and_nothing_else,
                                  logs_go_where_they_are_sent,
                                  values_may_be_512_bytes_and_no_longer,
                                  signals_are_named,
                                  NULL};

    return unit_suite("options", tests);
}
