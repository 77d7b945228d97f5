#include "json.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

static char word[16], label[8];
static struct json_field fields[2];

static int read_both(const char *text)
{
    struct json_field both[] = {{"do", word, sizeof word, JSON_ABSENT}, {"label", label, sizeof label, JSON_ABSENT}};
    int result = json_read(text, strlen(text), both, 2);

    memcpy(fields, both, sizeof fields);
    return result;
}

START_TEST(members_are_found_among_others)
{
    ck_assert_int_eq(read_both(" {\"x\":[1,{\"do\":\"no\"},-0.5e+3,null],\"do\" : \"mark\",\"label\":\"\\u00e4\\ud83d\\ude00\"}\r\n"), 0);
    ck_assert_str_eq(word, "mark");
    ck_assert_str_eq(label, "\xc3\xa4\xf0\x9f\x98\x80");
    ck_assert_int_eq(read_both("{\"d\\u006f\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}"), 0);
    ck_assert_str_eq(word, "\"\\/\b\f\n\r\t");
    ck_assert_int_eq(fields[1].kind, JSON_ABSENT);
    ck_assert_str_eq(label, "");
    ck_assert_int_eq(read_both("{}"), 0);
    ck_assert_int_eq(fields[0].kind, JSON_ABSENT);
}
END_TEST

START_TEST(a_value_of_another_kind_is_said)
{
    static const char *const others[] = {"{\"do\":1}", "{\"do\":null}", "{\"do\":true}", "{\"do\":[\"x\"]}", "{\"do\":{}}"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_int_eq(read_both(others[i]), 0);
        ck_assert_int_eq(fields[0].kind, JSON_OTHER);
        ck_assert_str_eq(word, "");
    }
}
END_TEST

static const char *const bad[] = {
    "", " ", "1", "[]", "\"x\"", "null", "{", "}", "{}x", "{}{}", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{'a':1}",
    "{\"a\":01}", "{\"a\":1.}", "{\"a\":.5}", "{\"a\":+1}", "{\"a\":-}", "{\"a\":1e}", "{\"a\":nul}", "{\"a\":nulll}", "{\"a\":NaN}", "{\"a\":Infinity}",
    "{\"a\":[1 2]}", "{\"a\":[1,]}", "{\"a\":[}", "{\"a\":\"\n\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\ud800\"}", "{\"a\":\"\\ud800\\u0041\"}",
    "{\"a\":\"\\udc00\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\xc0\x80\"}", "{\"a\":\"x}", "{\"a\":\"\\", "{\"do\":\"a\",\"do\":\"a\"}",
    "{\"do\":\"a\\u0000b\"}", "{/**/}", "{\"a\":1}\x0b",
};

START_TEST(what_is_no_object_is_refused)
{
    ck_assert_msg(read_both(bad[_i]) == -EINVAL, "%s", bad[_i]);
}
END_TEST

START_TEST(too_long_is_told_from_wrong)
{
    ck_assert_int_eq(read_both("{\"label\":\"1234567\"}"), 0);
    ck_assert_int_eq(read_both("{\"label\":\"12345678\",\"do\":\"mark\"}"), -ENAMETOOLONG);
    ck_assert_str_eq(word, "mark");
    ck_assert_int_eq(read_both("{\"label\":\"12345678\"]"), -EINVAL);
    ck_assert_int_eq(json_read("{}", 1, NULL, 0), -EINVAL);
}
END_TEST

START_TEST(nesting_has_an_end)
{
    char deep[200] = "{\"a\":";

    for (int i = 1; i < JSON_DEPTH; i++)
        strcat(deep, "[");
    for (int i = 1; i < JSON_DEPTH; i++)
        strcat(deep, "]");
    strcat(deep, "}");
    ck_assert_int_eq(read_both(deep), 0);
    memset(deep + 5, '[', 100);
    ck_assert_int_eq(read_both(deep), -EINVAL);
}
END_TEST

START_TEST(what_is_written_is_read)
{
    char text[100];
    struct text t;

    text_init(&t, text, sizeof text);
    text_char(&t, '{');
    json_add_string(&t, "do", "a\"b\\c\n", 50);
    json_add_number(&t, "n", -5, true);
    json_add_number(&t, "u", 0, false);
    json_add_bool(&t, "t", true);
    text_char(&t, '}');
    ck_assert_str_eq(text, "{\"do\":\"a\\\"b\\\\c\\n\",\"n\":-5,\"u\":null,\"t\":true}");
    ck_assert_int_eq(read_both(text), 0);
    ck_assert_str_eq(word, "a\"b\\c\n");
}
END_TEST

Suite *suite_json(void)
{
    Suite *s = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_test(t, members_are_found_among_others);
    tcase_add_test(t, a_value_of_another_kind_is_said);
    tcase_add_loop_test(t, what_is_no_object_is_refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, too_long_is_told_from_wrong);
    tcase_add_test(t, nesting_has_an_end);
    tcase_add_test(t, what_is_written_is_read);
    suite_add_tcase(s, t);
    return s;
}
