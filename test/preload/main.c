/* Runs every driver. CK_RUN_SUITE=name and CK_RUN_CASE=name choose one; TEST_LIBRARY=path tries another library. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Suite *(*const suite_table[])(void) = {
#define SUITE(name) suite_##name,
#include "suites.def"
#undef SUITE
};

/* Tests run in processes of their own, so what they skipped comes back through a file. */
static void report_skipped(const char *path)
{
    char *text = file_text(path);
    unsigned n = 0;
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        n++;
    printf("%s%u skipped\n", text, n);
    free(text);
}

int main(void)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/scratch", harness_build());
    if (mkdir(path, 0755) != 0 && !file_exists(path)) {
        perror(path);
        return 2;
    }
    (void)snprintf(path, sizeof path, "%s/scratch/skipped.%d", harness_build(), (int)getpid());
    setenv("HARNESS_SKIPPED", path, 1);
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suite_table / sizeof *suite_table; i++)
        srunner_add_suite(runner, suite_table[i]());
    srunner_set_fork_status(runner, CK_FORK);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    report_skipped(path);
    (void)unlink(path);
    return failed ? 1 : 0;
}
