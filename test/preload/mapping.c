/* mmap: and munmap: events: what the host and its allocators map and unmap by way of libc is counted, in any thread, inside an
 * allocator too; a release sets the count back; failures and raw system calls do not count. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __x86_64__
#define SAID "\"label\":\"said\""

/* `rounds` times the victim maps and unmaps 24 MiB; after the round `release` SIGUSR1 is sent. */
static void start(struct host *h, const char *way, const char *on, enum allocator a, enum place p, unsigned rounds, unsigned release)
{
    const char *argv[] = {"mapper", way, NULL};
    char setting[300];
    const char *const env[] = {setting, "GIVEBACK_INTERVAL=1ms", NULL};

    (void)snprintf(setting, sizeof setting, "GIVEBACK_ON=%s; said=log:all said->mark", on);
    host_start(h, &(struct host_setup){.argv = argv, .allocator = a, .place = p, .env = env});
    for (unsigned i = 1; i <= rounds; i++) {
        host_wait_log(h, SAID, i);
        if (i == release)
            host_release(h);
        if (i < rounds)
            host_say(h, "\n");
    }
}

static void finish(struct host *h)
{
    ck_assert_int_eq(host_end(h), 7 << 8);
    ck_assert_msg(host_notices(h) == 0, "%s", file_text(h->log));
}

static void run(struct host *h, const char *way, const char *on, enum allocator a, enum place p, unsigned rounds, unsigned release)
{
    start(h, way, on, a, p, rounds, release);
    finish(h);
}

static unsigned of(const struct host *h, const char *event)
{
    char key[60];
    (void)snprintf(key, sizeof key, "\"event\":\"%s\"", event);
    return host_count_log(h, key);
}

/* 24 MiB in each way, and what has to be seen of it; not more. */
static const struct { const char *way; unsigned mapped, unmapped; } ways[] = {
    {"mmap", 1, 1}, {"pieces", 1, 1}, {"large", 1, 1}, {"small", 1, 1}, {"sbrk", 1, 1}, {"mremap", 1, 1}, {"failing", 0, 0}, {"raw", 0, 0},
};

START_TEST(test_every_way_of_mapping_counts)
{
    struct host h;
    run(&h, ways[_i].way, "mmap:16M->mark; munmap:16M->mark; mmap:31M->mark; munmap:31M->mark", GLIBC, FIRST, 1, 0);
    ck_assert_msg(of(&h, "mmap:16M") == ways[_i].mapped && of(&h, "munmap:16M") == ways[_i].unmapped, "%s: mmap %u, munmap %u", ways[_i].way,
                  of(&h, "mmap:16M"), of(&h, "munmap:16M"));
    ck_assert_msg(of(&h, "mmap:31M") == 0 && of(&h, "munmap:31M") == 0, "%s: more is seen than there is", ways[_i].way);
    host_clean(&h);
}
END_TEST

/* Whether the memory for 1,536 blocks of 16,000 bytes is seen, and the host's own mmap: tcmalloc stands in front of libc's
 * with a function of its own that makes the system call. */
START_TEST(test_what_is_seen_of_each_allocator)
{
    enum allocator a = CELL_ALLOCATOR(_i);
    bool tcmalloc = a == TCMALLOC || a == TCMALLOC_MINIMAL;
    struct host h;
    if (!harness_allocator(a, "test_what_is_seen_of_each_allocator"))
        return;
    run(&h, "small", "mmap:16M->mark", a, CELL_PLACE(_i), 1, 0);
    ck_assert_msg(of(&h, "mmap:16M") >= 1, "%s: growth is not seen", allocator_name(a));
    host_clean(&h);
    run(&h, "mmap", "mmap:16M->mark", a, CELL_PLACE(_i), 1, 0);
    ck_assert_msg((of(&h, "mmap:16M") >= 1) == !tcmalloc, "%s: the host's mmap", allocator_name(a));
    host_clean(&h);
}
END_TEST

START_TEST(test_it_fires_once_until_a_release_and_then_again)
{
    struct host h;
    run(&h, "held", "munmap:40M", GLIBC, FIRST, 4, 0); /* at 48 and 96 MiB */
    ck_assert_uint_eq(of(&h, "munmap:40M"), 2);
    host_clean(&h);
    run(&h, "pieces", "munmap:40M", GLIBC, FIRST, 2, 1); /* 24 before a release, 24 after it */
    ck_assert_uint_eq(of(&h, "munmap:40M"), 0);
    host_clean(&h);
    run(&h, "pieces", "munmap:40M->mark", GLIBC, FIRST, 5, 0); /* a mark sets nothing back: at 40, 80 and 120 */
    ck_assert_uint_eq(of(&h, "munmap:40M"), 3);
    host_clean(&h);
}
END_TEST

/* So much in 262,144 pieces by 8 threads at once: if more than one is lost it does not fire. */
START_TEST(test_no_thread_is_forgotten)
{
    struct host h;
    run(&h, "threads", "munmap:1G->mark", GLIBC, FIRST, 3, 0);
    ck_assert_uint_eq(of(&h, "munmap:1G"), 3);
    host_clean(&h);
}
END_TEST

/* The child's own 24 MiB, and the parent's none. */
START_TEST(test_a_child_counts_for_itself)
{
    struct host h;
    char record[5000];
    start(&h, "child", "munmap:16M->mark", GLIBC, FIRST, 1, 0);
    host_wait_log(&h, "\"event\":\"munmap:16M\"", 1);
    host_wait_log(&h, SAID, 2);
    finish(&h); /* both end with it */
    for (unsigned i = 0; i < 3; i++) {
        host_record(&h, i, record, sizeof record);
        if (strstr(record, "munmap"))
            ck_assert_int_ne(json_number(record, "pid"), h.pid);
    }
    ck_assert_uint_eq(of(&h, "munmap:16M"), 1);
    host_clean(&h);
}
END_TEST

/* The worker maps its own stack, and an allocator that it asks may unmap: nothing of that is the host's. */
START_TEST(test_our_own_mappings_do_not_count)
{
    struct host h;
    run(&h, "none", "mmap:64K->mark; munmap:64K->mark", GLIBC, FIRST, 3, 2);
    ck_assert_msg(of(&h, "mmap:64K") == 0 && of(&h, "munmap:64K") == 0, "%s", file_text(h.log));
    host_clean(&h);
}
END_TEST

/* Every event of the kind at once, in every allocator, wherever the library stands: threads that allocate, and children. */
START_TEST(test_every_allocator_works_with_all_of_them)
{
    static const char *const churn[] = {"churn", "4", "100", NULL}, *const children[] = {"forkmany", "100", NULL};
    static const char *const env[] = {"GIVEBACK_ON=mmap:1M->mark; munmap:1M->mark; mmap:4M; munmap:4M; log:e->mark; log:of", "GIVEBACK_INTERVAL=1ms", NULL};
    struct host_setup s = {.argv = churn, .allocator = CELL_ALLOCATOR(_i), .place = CELL_PLACE(_i), .env = env};
    if (!harness_allocator(s.allocator, "test_every_allocator_works_with_all_of_them"))
        return;
    ck_assert_int_eq(host_same(&s, 0, 0), 0);
    s.argv = children;
    if (s.allocator != TBB) /* which hangs in such children by itself, see promise_fork */
        ck_assert_int_eq(host_same(&s, 0, 0), 0);
}
END_TEST

Suite *suite_mapping(void)
{
    Suite *s = suite_create("mapping");
    TCase *t = tcase_create("mapping");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_every_way_of_mapping_counts, 0, sizeof ways / sizeof *ways);
    tcase_add_loop_test(t, test_what_is_seen_of_each_allocator, 0, CELLS);
    tcase_add_loop_test(t, test_every_allocator_works_with_all_of_them, 0, CELLS);
    tcase_add_test(t, test_it_fires_once_until_a_release_and_then_again);
    tcase_add_test(t, test_no_thread_is_forgotten);
    tcase_add_test(t, test_a_child_counts_for_itself);
    tcase_add_test(t, test_our_own_mappings_do_not_count);
    suite_add_tcase(s, t);
    return s;
}
#else
Suite *suite_mapping(void)
{
    return suite_create("mapping"); /* x86-64 only */
}
#endif
