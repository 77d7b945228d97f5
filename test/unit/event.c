#include "event.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static struct event events[EVENT_MAX];
static char line[256];

/* How many were good; what was complained of stands in `line`. */
static size_t read_all(const char *value)
{
    struct text t;

    memset(events, 0x5a, sizeof events);
    text_init(&t, line, sizeof line);
    return event_read(events, EVENT_MAX, value, &t);
}

START_TEST(an_event_is_read_with_all_its_parts)
{
    ck_assert_uint_eq(read_all("weight load=exit:py:a.b:C.load->mark; enter:py:x:f ;exit:py:y:g->release;"), 3);
    ck_assert_str_eq(line, "");
    ck_assert_str_eq(events[0].label, "weight load");
    ck_assert_int_eq(events[0].kind, EVENT_EXIT);
    ck_assert_int_eq(events[0].action, RECORD_MARK);
    ck_assert_str_eq(events[0].argument, "py:a.b:C.load");
    ck_assert_str_eq(events[0].name, "exit:py:a.b:C.load");
    ck_assert_str_eq(events[1].label, "");
    ck_assert_int_eq(events[1].kind, EVENT_ENTER);
    ck_assert_int_eq(events[1].action, RECORD_RELEASE);
    ck_assert_str_eq(events[1].name, "enter:py:x:f");
    ck_assert_int_eq(events[2].action, RECORD_RELEASE);
    ck_assert_str_eq(events[2].argument, "py:y:g");
}
END_TEST

START_TEST(arguments_become_amounts)
{
    ck_assert_uint_eq(read_all("rss:2G;settle;settle:500ms->mark;every:1m;pressure->mark"), 5);
    ck_assert_str_eq(line, "");
    ck_assert_int_eq(events[0].amount, INT64_C(2) << 30);
    ck_assert_int_eq(events[1].amount, 0);
    ck_assert_str_eq(events[1].name, "settle");
    ck_assert_int_eq(events[2].amount, 500000000);
    ck_assert_int_eq(events[2].action, RECORD_MARK);
    ck_assert_int_eq(events[3].amount, INT64_C(60000000000));
    ck_assert_int_eq(events[4].amount, 0);
    ck_assert_str_eq(events[4].name, "pressure");
}
END_TEST

START_TEST(texts_and_sizes_are_read)
{
    ck_assert_uint_eq(read_all("l=log:py:a, b=c;log:\"x; y->z\"->mark;mmap:4G;munmap:512k->mark"), 4);
    ck_assert_str_eq(line, "");
    ck_assert_int_eq(events[0].kind, EVENT_LOG);
    ck_assert_str_eq(events[0].label, "l");
    ck_assert_str_eq(events[0].argument, "py:a, b=c");
    ck_assert_str_eq(events[1].argument, "x; y->z");
    ck_assert_str_eq(events[1].name, "log:x; y->z");
    ck_assert_int_eq(events[1].action, RECORD_MARK);
    ck_assert_int_eq(events[2].kind, EVENT_MMAP);
    ck_assert_int_eq(events[2].amount, INT64_C(4) << 30);
    ck_assert_int_eq(events[3].kind, EVENT_MUNMAP);
    ck_assert_int_eq(events[3].amount, 512 << 10);
}
END_TEST

START_TEST(numbers_and_paths_are_read)
{
    ck_assert_uint_eq(read_all("a=fd:3;fd:65535;fifo:/run/%n.%p%%;fifo:x->mark;socket;socket:/tmp/x.sock"), 6);
    ck_assert_str_eq(line, "");
    ck_assert_int_eq(events[0].amount, 3);
    ck_assert_str_eq(events[0].name, "fd:3");
    ck_assert_int_eq(events[1].amount, 65535);
    ck_assert_str_eq(events[2].argument, "/run/%n.%p%%");
    ck_assert_int_eq(events[3].action, RECORD_MARK);
    ck_assert_str_eq(events[4].argument, "");
    ck_assert_str_eq(events[4].name, "socket");
    ck_assert_str_eq(events[5].argument, "/tmp/x.sock");
}
END_TEST

START_TEST(nothing_is_no_event)
{
    static const char *const blank[] = {"", " ", ";", " ; ;\t;\n"};

    for (size_t i = 0; i < sizeof blank / sizeof *blank; i++) {
        ck_assert_uint_eq(read_all(blank[i]), 0);
        ck_assert_str_eq(line, "");
    }
}
END_TEST

START_TEST(in_quotes_every_mark_is_a_letter)
{
    ck_assert_uint_eq(read_all("\"a;b=c->d:e \\\"q\\\" \\\\\"=exit:py:m:f;\"l\"=exit:\"py:m:f\"->\"mark\""), 1);
    ck_assert_str_eq(events[0].label, "a;b=c->d:e \"q\" \\");
    ck_assert_str_eq(events[0].argument, "py:m:f");
    ck_assert_str_eq(line, "\"\"mark\"\" at 54: expected an action: release or mark");
}
END_TEST

/* What is wrong, where, and what was expected; the good items beside it are kept. */
static const struct {
    const char *value, *complaint;
    size_t good;
} wrong[] = {
    {"exot:py:m:f", "\"exot\" at 1: expected KINDS", 0},
    {"exit", "\"\" at 1: expected py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]", 0},
    {"exit:", "\"\" at 6: expected py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]", 0},
    {"exit:py:m", "\"py:m\" at 6: expected py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]", 0},
    {"exit:py::f", "\"py::f\" at 6: expected py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]", 0},
    {"exit:py:m:", "\"py:m:\" at 6: expected py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]", 0},
    {"exit:py:m:f:g", "\"py:m:f:g\" at 6: expected py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]", 0},
    {"exit:m:", "\"m:\" at 6: expected py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]", 0},
    {"exit:py:m:f->drop", "\"drop\" at 14: expected an action: release or mark", 0},
    {"exit:py:m:f->", "\"\" at 14: expected an action: release or mark", 0},
    {"=:", "\"\" at 2: expected KINDS", 0},
    {"a=b=exit:py:m:f", "\"b=exit\" at 3: expected KINDS", 0},
    {"\"a=exit:py:m:f", "\"\"a=exit:py:m:f\" at 1: expected KINDS", 0},
    {"exit:py:m:\"f", "\"py:m:\"f\" at 6: expected a closing quote", 0},
    {"exit:py:m:f;exit:py:n", "\"py:n\" at 18: expected py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]", 1},
    {"x;exit:py:m:f;y", "\"x\" at 1: expected KINDS (and 1 more)", 1},
    {"rss:1.5G", "\"1.5G\" at 5: expected a size above 0: a number and perhaps K, M or G", 0},
    {"every:", "\"\" at 7: expected a time above 0: a number and ms, s, m or h", 0},
    {"idle", "\"\" at 1: expected a time above 0: a number and ms, s, m or h", 0},
    {"pressure:5", "\"5\" at 10: expected nothing behind this kind of event", 0},
    {"settle:0", "\"0\" at 8: expected a time above 0: a number and ms, s, m or h", 0},
    {"fd:2", "\"2\" at 4: expected the number of a descriptor from 3 to 65535", 0},
    {"fd:65536", "\"65536\" at 4: expected the number of a descriptor from 3 to 65535", 0},
    {"fd:99999999999999999999", "\"99999999999999999999\" at 4: expected the number of a descriptor from 3 to 65535", 0},
    {"fd:3x", "\"3x\" at 4: expected the number of a descriptor from 3 to 65535", 0},
    {"fd", "\"\" at 1: expected the number of a descriptor from 3 to 65535", 0},
    {"fifo", "\"\" at 1: expected the path of a file, not of a folder", 0},
    {"fifo:/tmp/", "\"/tmp/\" at 6: expected the path of a file, not of a folder", 0},
    {"fifo:/tmp/%x", "\"/tmp/%x\" at 6: expected %p (process id), %n (program's name) or %% in a path", 0},
    {"socket:/tmp/", "\"/tmp/\" at 8: expected the path of a file, not of a folder", 0},
    {"socket->mark", "\"mark\" at 9: expected no action behind a socket, whose clients say what to do", 0},
    {"log", "\"\" at 1: expected a text that can stand in one line", 0},
    {"log:;exit:py:m:f", "\"\" at 5: expected a text that can stand in one line", 1},
    {"log:\"a\nb\"", "\"\"a\\x0ab\"\" at 5: expected a text that can stand in one line", 0},
    {"log:a->b", "\"b\" at 8: expected an action: release or mark", 0},
    {"mmap", "\"\" at 1: expected a size above 0: a number and perhaps K, M or G", 0},
    {"munmap:-1M", "\"-1M\" at 8: expected a size above 0: a number and perhaps K, M or G", 0},
    {"exit:py:__main__:f",
     "\"py:__main__:f\" at 6: expected py:MODULE:QUALNAME of a module that is imported, which __main__ (the script itself) is not", 0},
};

/* `line` must be this, in which KINDS stands for what the table has. */
static void complained(const char *expected)
{
    const char *mark = strstr(expected, "KINDS");
    char whole[sizeof line];
    struct text t;

    text_init(&t, whole, sizeof whole);
    text_mem(&t, expected, mark ? (size_t)(mark - expected) : strlen(expected));
    if (mark) {
        text_str(&t, "one of the kinds of event:");
        for (int kind = 0; kind < EVENT_KINDS; kind++) {
            text_char(&t, ' ');
            text_str(&t, event_table[kind].name);
        }
        text_str(&t, mark + 5);
    }
    ck_assert(!t.cut);
    ck_assert_str_eq(line, whole);
}

START_TEST(a_wrong_item_is_named_with_its_place)
{
    ck_assert_uint_eq(read_all(wrong[_i].value), wrong[_i].good);
    complained(wrong[_i].complaint);
    if (wrong[_i].good)
        ck_assert_str_eq(events[0].name, "exit:py:m:f");
}
END_TEST

START_TEST(at_most_sixteen)
{
    char value[400] = "";

    for (int i = 0; i < EVENT_MAX; i++)
        strcat(value, "exit:py:m:f;");
    ck_assert_uint_eq(read_all(value), EVENT_MAX);
    ck_assert_str_eq(line, "");
    strcat(value, "exit:py:m:g;exit:py:m:h");
    ck_assert_uint_eq(read_all(value), EVENT_MAX);
    ck_assert_str_eq(line, "\"exit:py:m:g\" at 193: expected at most 16 events (and 1 more)");
    ck_assert_str_eq(events[EVENT_MAX - 1].name, "exit:py:m:f");
}
END_TEST

/* A name that is cut short would be another function's. */
START_TEST(too_long_is_refused_not_cut)
{
    char value[700], name[400];

    memset(name, 'a', sizeof name);
    name[EVENT_ARGUMENT_MAX - 1 - 5] = '\0';
    (void)snprintf(value, sizeof value, "exit:py:m:%s", name);
    ck_assert_uint_eq(read_all(value), 1);
    ck_assert_uint_eq(strlen(events[0].argument), EVENT_ARGUMENT_MAX - 1);
    ck_assert_uint_eq(strlen(events[0].name), EVENT_ARGUMENT_MAX - 1 + 5);
    (void)snprintf(value, sizeof value, "exit:py:m:%sa", name);
    ck_assert_uint_eq(read_all(value), 0);
    ck_assert_msg(strstr(line, "at 6: expected something shorter"), "%s", line);
    (void)snprintf(value, sizeof value, "%.*s=exit:py:m:f", EVENT_LABEL_MAX, name);
    ck_assert_uint_eq(read_all(value), 0);
    ck_assert_msg(strstr(line, "at 1: expected something shorter"), "%s", line);
}
END_TEST

START_TEST(without_a_place_for_them_they_are_only_checked)
{
    struct text t;

    text_init(&t, line, sizeof line);
    ck_assert_uint_eq(event_read(NULL, EVENT_MAX, "exit:py:m:f;nonsense", &t), 1);
    complained("\"nonsense\" at 13: expected KINDS");
}
END_TEST

static const struct {
    const char *item, *argument, *text;
    int kind;
} pieces[] = {
    {"exit:ns::f(int, char const*)", "ns::f(int, char const*)", "ns::f(int, char const*)", EVENT_EXIT},
    {"a b=enter:x.so:f->mark", "x.so:f", "x.so:f", EVENT_ENTER},
    {"\"l:1;\"=exit:\"C::operator->\\\"\" -> mark", "\"C::operator->\\\"\"", "C::operator->\"", EVENT_EXIT},
    {"exit:C::operator=", "C::operator=", "C::operator=", EVENT_EXIT},
    {"exit", "", "", EVENT_KINDS},
    {"exot:f", "f", "", EVENT_KINDS},
    {"exit:longer_than_the_buffer_that_is_given_to_it", "longer_than_the_buffer_that_is_given_to_it", "", EVENT_KINDS},
};

/* One after the other, with nothing between them and with blanks; the last with an empty item behind it. */
START_TEST(a_value_is_taken_apart)
{
    struct event_piece item, argument;
    enum event_kind kind;
    char value[2000], text[40];
    const char *rest = value;
    struct text t;

    text_init(&t, value, sizeof value);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        text_str(&t, pieces[i].item);
        text_str(&t, i % 2 ? " ;; " : ";");
    }
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        ck_assert(event_next(&rest, &item, &kind, &argument, text, sizeof text));
        ck_assert_msg(item.n == strlen(pieces[i].item) && memcmp(item.at, pieces[i].item, item.n) == 0, "%zu: %.*s", i, (int)item.n, item.at);
        ck_assert_msg(argument.n == strlen(pieces[i].argument) && memcmp(argument.at, pieces[i].argument, argument.n) == 0, "%zu: %.*s", i,
                      (int)argument.n, argument.at);
        ck_assert_str_eq(text, pieces[i].text);
        ck_assert_int_eq((int)kind, pieces[i].kind);
    }
    ck_assert(!event_next(&rest, &item, &kind, &argument, text, sizeof text));
    ck_assert(!event_next(&rest, &item, &kind, &argument, text, sizeof text));
}
END_TEST

Suite *suite_event(void)
{
    Suite *s = suite_create("event");
    TCase *t = tcase_create("event");
    tcase_add_test(t, an_event_is_read_with_all_its_parts);
    tcase_add_test(t, arguments_become_amounts);
    tcase_add_test(t, numbers_and_paths_are_read);
    tcase_add_test(t, texts_and_sizes_are_read);
    tcase_add_test(t, nothing_is_no_event);
    tcase_add_test(t, in_quotes_every_mark_is_a_letter);
    tcase_add_loop_test(t, a_wrong_item_is_named_with_its_place, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(t, at_most_sixteen);
    tcase_add_test(t, too_long_is_refused_not_cut);
    tcase_add_test(t, a_value_is_taken_apart);
    tcase_add_test(t, without_a_place_for_them_they_are_only_checked);
    suite_add_tcase(s, t);
    return s;
}
