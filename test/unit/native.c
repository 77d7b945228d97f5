/* Native targets of enter: and exit:. */
#include "event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

START_TEST(divides_a_native_target)
{
    static const struct { const char *argument; int error; const char *object, *symbol; unsigned stack; } cases[] = {
        {"f", 0, "", "f", 256},
        {"libfoo.so*:f", 0, "libfoo.so*", "f", 256},
        {"libfoo-1,2.so:f", 0, "libfoo-1,2.so", "f", 256},
        {"f,stack=1", 0, "", "f", 16},
        {"o:f,stack=16", 0, "o", "f", 16},
        {"o:f,stack=65536", 0, "o", "f", 65536},
        {"o:f,stack=-1", -EINVAL, "", "", 0},
        {"o:f,stack=1,stack=2", -EINVAL, "", "", 0},
        {"", -EINVAL, "", "", 0},
    };
    struct event_native n;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(event_native_target(cases[i].argument, &n), cases[i].error);
        if (cases[i].error)
            continue;
        ck_assert_str_eq(n.object, cases[i].object);
        ck_assert_str_eq(n.symbol, cases[i].symbol);
        ck_assert_uint_eq(n.stack, cases[i].stack);
    }
}
END_TEST

START_TEST(says_what_a_target_looks_like)
{
    static const char *const bad[] = {"py:module", "a:b:c", ":b", "a:", ",stack=16", "f,stack=", "f,stack=0", "f,stack=12k", "f,stack=65537",
                                      "f,stack=4294967312", "f,stuck=16"};
    char value[100], line[300], wanted[300];
    struct event e[2];
    struct text t;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)snprintf(value, sizeof value, "exit:good;enter:%s", bad[i]);
        (void)snprintf(wanted, sizeof wanted, "\"%s\" at 17: expected py:MODULE:QUALNAME or [OBJECT:]SYMBOL[,stack=N]", bad[i]);
        text_init(&t, line, sizeof line);
        ck_assert_uint_eq(event_read(e, 2, value, &t), 1);
        ck_assert_str_eq(line, wanted);
    }
}
END_TEST

Suite *suite_native(void)
{
    const TTest *const tests[] = {divides_a_native_target, says_what_a_target_looks_like, NULL};
    return unit_suite("native", tests);
}
