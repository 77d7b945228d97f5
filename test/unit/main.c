/* Runs every suite over lib/, from the root of the tree. CK_RUN_SUITE=name chooses one. */
#include "unit.h"

#include <stdio.h>

static Suite *(*const suites[])(void) = {
#define SUITE(name) suite_##name,
#include "suites.def"
#undef SUITE
};

size_t unit_data(const char *name, char *buffer, size_t size)
{
    char path[256];

    (void)snprintf(path, sizeof path, "test/unit/data/%s", name);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s cannot be opened: run the tests from the root of the tree", path);
    size_t n = fread(buffer, 1, size, f);
    (void)fclose(f);
    ck_assert_msg(n > 0 && n < size, "%s: %zu bytes, expected 1 to %zu", path, n, size - 1);
    buffer[n] = '\0';
    return n;
}

Suite *unit_suite(const char *name, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);

    for (; *tests; tests++)
        tcase_add_test(tcase, *tests);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(NULL);

    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        srunner_add_suite(runner, suites[i]());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
