#include "procfs.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KIB INT64_C(1024)
#define U PROCFS_UNKNOWN
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum kind { STATUS, STATM, ROLLUP };

static const struct {
    const char *file;
    enum kind kind;
    int result;
    struct procfs_memory m; /* in KiB; anon, file, shmem, swap, locked, lazyfree, hugepages, pss_anon, threads */
} texts[] = {
    {"6.18-status", STATUS, 0, {82044, 1280, 0, 0, 4096, U, U, U, 4}},
    {"6.1-status", STATUS, 0, {880000, 24376, 36, 20480, 65536, U, U, U, 12}},
    {"5.10-status", STATUS, 0, {880000, 24376, 36, 20480, 65536, U, U, U, 12}},
    {"4.9-status", STATUS, 0, {880000, 24376, 36, 20480, 65536, U, U, U, 12}},
    {"3.10-status", STATUS, -ENODATA, {U, U, U, 20480, 0, U, U, U, 12}},
    {"6.18-zombie-status", STATUS, -ENODATA, {U, U, U, U, U, U, U, U, 1}},
    {"5.10-zombie-status", STATUS, -ENODATA, {U, U, U, U, U, U, U, U, 1}},
    {"6.18-kernel-thread-status", STATUS, -ENODATA, {U, U, U, U, U, U, U, U, 1}},
    {"3.10-kernel-thread-status", STATUS, -ENODATA, {U, U, U, U, U, U, U, U, 1}},
    {"6.18-statm", STATM, 0, {82044, U, U, U, U, U, U, U, U}},
    {"3.10-statm", STATM, 0, {880000, U, U, U, U, U, U, U, U}},
    {"6.18-zombie-statm", STATM, -ENODATA, {U, U, U, U, U, U, U, U, U}},
    {"6.18-kernel-thread-statm", STATM, -ENODATA, {U, U, U, U, U, U, U, U, U}},
    {"6.18-smaps_rollup", ROLLUP, 0, {U, U, U, U, U, 8192, 16384, 82044, U}},
    {"5.10-smaps_rollup", ROLLUP, 0, {U, U, U, U, U, 12288, 409600, 880000, U}},
    {"4.14-smaps_rollup", ROLLUP, 0, {U, U, U, U, U, 12288, 409600, U, U}},
};

static const struct {
    const char *file;
    int64_t minflt;
} stats[] = {{"6.18-stat", 16522}, {"6.18-zombie-stat", 28}, {"6.18-kernel-thread-stat", 0}};

static int parse(enum kind kind, const char *text, size_t n, struct procfs_memory *m)
{
    switch (kind) {
    case STATUS: return procfs_status(text, n, m);
    case STATM: return procfs_statm(text, n, 4096, m);
    default: return procfs_smaps_rollup(text, n, m);
    }
}

/* The figures of a memory, and what they would be in bytes were they KiB. */
static void figures(const struct procfs_memory *m, int64_t kib, int64_t out[9])
{
    const int64_t all[] = {m->anon, m->file, m->shmem, m->swap, m->locked, m->lazyfree, m->hugepages, m->pss_anon};

    for (size_t i = 0; i < 8; i++)
        out[i] = all[i] == U ? U : all[i] * kib;
    out[8] = m->threads;
}

/* A copy that ends where the text ends, so that a sanitizer sees a read beyond it. */
static char *exact(const char *text, size_t n)
{
    char *copy = malloc(n + !n);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, n);
    return copy;
}

START_TEST(texts_of_many_kernels_are_read)
{
    char text[8192];
    int64_t got[9], want[9];

    for (size_t i = 0; i < COUNT(texts); i++) {
        struct procfs_memory m;
        size_t n = unit_data(texts[i].file, text, sizeof text);
        char *copy = exact(text, n);
        procfs_memory_unknown(&m);
        ck_assert_msg(parse(texts[i].kind, copy, n, &m) == texts[i].result, "%s", texts[i].file);
        figures(&m, 1, got);
        figures(&texts[i].m, KIB, want);
        for (size_t k = 0; k < 9; k++)
            ck_assert_msg(got[k] == want[k], "%s, figure %zu: %lld, expected %lld", texts[i].file, k, (long long)got[k],
                          (long long)want[k]);
        free(copy);
    }
}
END_TEST

/* A figure out of a text cut off anywhere is the true one or unknown: never a beginning of it, never 0. */
START_TEST(cut_texts_give_the_true_figure_or_none)
{
    char text[8192];
    int64_t got[9], want[9];

    for (size_t i = 0; i < COUNT(texts); i++) {
        size_t n = unit_data(texts[i].file, text, sizeof text);
        figures(&texts[i].m, KIB, want);
        for (size_t cut = 0; cut < n; cut++) {
            struct procfs_memory m;
            char *copy = exact(text, cut);
            procfs_memory_unknown(&m);
            int result = parse(texts[i].kind, copy, cut, &m);
            ck_assert(result == 0 || result == -EINVAL || result == -ENODATA);
            if (result == 0 && texts[i].kind != ROLLUP)
                ck_assert_int_ne(m.anon, U);
            figures(&m, 1, got);
            for (size_t k = 0; k < 9; k++)
                ck_assert_msg(got[k] == U || got[k] == want[k], "%s cut at %zu, figure %zu: %lld", texts[i].file, cut,
                              k, (long long)got[k]);
            free(copy);
        }
    }
}
END_TEST

START_TEST(garbage_is_refused_and_changes_nothing)
{
    static const char *const garbage[] = {"",
                                          "\n",
                                          "x",
                                          "Name",
                                          "Name:",
                                          "RssAnon:\t 12 kB\n",
                                          "Nam\nRssAnon:\t 12 kB\n",
                                          "-1 -1 -1\n",
                                          "1 2\n",
                                          "a b c\n",
                                          "10 2 3 x\n",
                                          "99999999999999999999 3 2 0\n",
                                          "10 9223372036854775807 0 0\n",
                                          "[rollup]",
                                          "1-2 ---p [rollup] x\nLazyFree: 4 kB\n",
                                          "LazyFree:  4 kB\n"};

    for (size_t i = 0; i < COUNT(garbage); i++)
        for (enum kind kind = STATUS; kind <= ROLLUP; kind++) {
            struct procfs_memory m;
            char *copy = exact(garbage[i], strlen(garbage[i]));
            int64_t got[9];
            procfs_memory_unknown(&m);
            ck_assert_msg(parse(kind, copy, strlen(garbage[i]), &m) == -EINVAL, "\"%s\" as kind %d", garbage[i],
                          (int)kind);
            figures(&m, 1, got);
            for (size_t k = 0; k < 9; k++)
                ck_assert_int_eq(got[k], U);
            free(copy);
        }
}
END_TEST

START_TEST(figures_that_make_no_sense_are_unknown)
{
    static const char *const lines[] = {"RssAnon:\t 12\n",
                                        "RssAnon:\t 12 MB\n",
                                        "RssAnon:\t -4 kB\n",
                                        "RssAnon:\t kB\n",
                                        "RssAnon:\t 1 2 kB\n",
                                        "RssAnon:\t 12 kB \n",
                                        "RssAnon: \n",
                                        " RssAnon:\t 12 kB\n",
                                        "RssAnonX:\t 12 kB\n",
                                        "RssAnon:\t 0x10 kB\n",
                                        "RssAnon:\t 12 kBx\n",
                                        "RssAnon:\t 9223372036854775807 kB\n",
                                        "RssAnon:\t 18446744073709551616 kB\n"};

    for (size_t i = 0; i < COUNT(lines); i++) {
        struct procfs_memory m;
        char text[256] = "Name:\tx\n";
        procfs_memory_unknown(&m);
        strcat(strcat(text, lines[i]), "Threads:\t0\n");
        ck_assert_msg(procfs_status(text, strlen(text), &m) == -ENODATA, "%s", lines[i]);
        ck_assert_int_eq(m.anon, U);
        ck_assert_int_eq(m.threads, U);
    }
}
END_TEST

START_TEST(a_second_text_adds_to_the_first)
{
    char text[8192];
    struct procfs_memory m;

    procfs_memory_unknown(&m);
    size_t n = unit_data("6.18-status", text, sizeof text);
    ck_assert_int_eq(procfs_status(text, n, &m), 0);
    n = unit_data("6.18-smaps_rollup", text, sizeof text);
    ck_assert_int_eq(procfs_smaps_rollup(text, n, &m), 0);
    ck_assert_int_eq(m.anon, 82044 * KIB);
    ck_assert_int_eq(m.lazyfree, 8192 * KIB);
    ck_assert_int_eq(m.pss_anon, 82044 * KIB);
}
END_TEST

START_TEST(a_resident_count_of_nothing_is_a_figure)
{
    struct procfs_memory m; /* wholly swapped out: the process has memory, none of it resident */

    procfs_memory_unknown(&m);
    ck_assert_int_eq(procfs_statm("1000 0 0 1 0 9 0\n", 17, 4096, &m), 0);
    ck_assert_int_eq(m.anon, 0);
    ck_assert_int_eq(procfs_statm("1000 4 5 1 0 9 0\n", 17, 4096, &m), -EINVAL);
}
END_TEST

START_TEST(minor_faults_survive_every_name)
{
    char text[1024];
    int64_t minflt;

    for (size_t i = 0; i < COUNT(stats); i++) {
        size_t n = unit_data(stats[i].file, text, sizeof text);
        minflt = U;
        ck_assert_int_eq(procfs_stat_minflt(text, n, &minflt), 0);
        ck_assert_int_eq(minflt, stats[i].minflt);
        for (size_t cut = 0; cut < n; cut++) {
            char *copy = exact(text, cut);
            minflt = U;
            int result = procfs_stat_minflt(copy, cut, &minflt);
            ck_assert_msg(result == 0 ? minflt == stats[i].minflt : minflt == U, "%s cut at %zu: %lld", stats[i].file,
                          cut, (long long)minflt);
            free(copy);
        }
    }
    static const char *const garbage[] = {"",
                                          ")",
                                          "1 x) S 1 1 1 1 1 1 9 0\n",
                                          "1 (x S 1 1 1 1 1 1 9 0\n",
                                          "1 (x) S 1 1 1 1 1 1 -9 0\n",
                                          "1 (x) S 1 1 1 1 1 1 99999999999999999999 0\n"};
    for (size_t i = 0; i < COUNT(garbage); i++) {
        minflt = U;
        ck_assert_msg(procfs_stat_minflt(garbage[i], strlen(garbage[i]), &minflt) == -EINVAL, "%s", garbage[i]);
        ck_assert_int_eq(minflt, U);
    }
}
END_TEST

START_TEST(the_uncertainty_follows_the_kernel)
{
    static const struct {
        const char *release;
        int cpus;
        int64_t threads, page, bytes;
    } cases[] = {
        {"3.10.0-1160.el7.x86_64", 8, 12, 4096, 12 * 64 * 4096},
        {"5.10.0-28-amd64", 128, 1, 4096, 64 * 4096},
        {"6.1.0-41-amd64", 2, 4, 4096, 4 * 64 * 4096},
        {"6.1", 2, U, 4096, U},
        {"6.2.0", 2, U, 4096, 2 * 32 * 4096},
        {"6.8.0-60-generic", 16, 1, 4096, 16 * 32 * 4096},
        {"6.12.38+deb13-amd64", 64, 1, 4096, 64 * 128 * 4096},
        {"6.16.0", 4, 1, 65536, 4 * 32 * 65536},
        {"6.16", 0, 1, 4096, U},
        {"6.17.0", 4, 1, 4096, 0},
        {"6.18.44-fc", 2, U, 4096, 0},
        {"7.0-rc1", 2, 9, 4096, 0},
        {"10.1", 2, 9, 4096, 0},
        {"", 2, 9, 4096, U},
        {"6", 2, 9, 4096, U},
        {"6.", 2, 9, 4096, U},
        {".18", 2, 9, 4096, U},
        {"six.two", 2, 9, 4096, U},
        {"5.4", 2, INT64_MAX, 4096, U},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_msg(procfs_uncertain(cases[i].release, cases[i].cpus, cases[i].threads, cases[i].page) ==
                          cases[i].bytes,
                      "%s", cases[i].release);
}
END_TEST

Suite *suite_procfs(void)
{
    const TTest *const tests[] = {texts_of_many_kernels_are_read,
                                  cut_texts_give_the_true_figure_or_none,
                                  garbage_is_refused_and_changes_nothing,
                                  figures_that_make_no_sense_are_unknown,
                                  a_second_text_adds_to_the_first,
                                  a_resident_count_of_nothing_is_a_figure,
                                  minor_faults_survive_every_name,
                                  the_uncertainty_follows_the_kernel,
                                  NULL};

    return unit_suite("procfs", tests);
}
