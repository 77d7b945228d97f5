#include "reason.h"
#include "unit.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define MIB (INT64_C(1) << 20)
#define U PROCFS_UNKNOWN

static struct record r;
static char sentence[160];

/* A release of which nothing came back, with one allocator that tells nothing. */
static struct record_allocator *fresh(int64_t anon)
{
    memset(&r, 0, sizeof r);
    procfs_memory_unknown(&r.before);
    procfs_memory_unknown(&r.after);
    r.before.anon = r.after.anon = anon;
    r.n_allocators = 1;
    for (unsigned i = 0; i < RECORD_ALLOCATORS; i++)
        r.allocator[i] = (struct record_allocator){"x", "", "", "", 0, 1, U, U, U, 0};
    return r.allocator;
}

static const char *find(int owner_only, const char *unreachable)
{
    const char *found = reason_find(&r, owner_only, unreachable, sentence, sizeof sentence);

    return found ? found : "none";
}

START_TEST(no_reason_when_enough_came_back)
{
    fresh(1000 * MIB);
    r.after.anon = 999 * MIB;
    ck_assert_str_eq(find(1, "libx.so"), "none");
    r.after.anon = 999 * MIB + 1;
    ck_assert_str_ne(find(1, "libx.so"), "none");
    /* the allocator did give, the host grew meanwhile */
    fresh(1000 * MIB)->returned = 8 * MIB;
    r.after.anon = 1002 * MIB;
    ck_assert_str_eq(find(0, NULL), "none");
    r.allocator[0].returned_known = 0;
    ck_assert_str_ne(find(0, NULL), "none");
}
END_TEST

START_TEST(no_reason_without_evidence)
{
    fresh(U);
    ck_assert_str_eq(find(0, "libx.so"), "none");
    fresh(1000 * MIB);
    r.action = RECORD_MARK;
    ck_assert_str_eq(find(0, "libx.so"), "none");
    /* two allocators: one says nothing, one failed */
    fresh(1000 * MIB)->error = EINVAL;
    r.n_allocators = 2;
    ck_assert_str_eq(find(0, NULL), "none");
}
END_TEST

START_TEST(nothing_is_held)
{
    struct record_allocator *a = fresh(1000 * MIB);

    a->held_before = a->held_after = 100 * 1024;
    ck_assert_str_eq(find(0, NULL), "nothing is held");
    a->live = 960 * MIB;
    ck_assert_str_eq(find(0, NULL), "nothing is held, 960 MiB of 1000 MiB is live");
    /* nor does it tell anything about a function that is nowhere */
    r.n_allocators = 2;
    a[1].error = ENOENT;
    ck_assert_str_eq(find(0, NULL), "nothing is held, 960 MiB of 1000 MiB is live");
    a->live = 100 * MIB;
    ck_assert_str_eq(find(0, NULL), "nothing is held, 100 MiB of 1000 MiB is live");
    a[1].error = 0;
    ck_assert_str_eq(find(0, NULL), "not every allocator says what it holds, and no page of it came back");
    r.n_allocators = 1;
    a->live = 960 * MIB;
    /* an allocator that does not say what it holds, but what is live is nearly all there is */
    a->held_before = a->held_after = U;
    ck_assert_str_eq(find(0, NULL), "nothing is held, 960 MiB of 1000 MiB is live");
    /* much is live that was never touched: no figure to show */
    a->held_after = 0;
    a->live = 2000 * MIB;
    ck_assert_str_eq(find(0, NULL), "nothing is held");
}
END_TEST

/* glibc's count of free bytes does not fall when their pages are returned. */
START_TEST(free_but_not_resident_is_not_held)
{
    struct record_allocator *a = fresh(1000 * MIB);

    a->held_before = a->held_after = 3000 * MIB;
    a->live = 999 * MIB + 512 * 1024;
    ck_assert_str_eq(find(0, NULL), "nothing is held, 1000 MiB of 1000 MiB is live");
    a->live = 600 * MIB;
    ck_assert_str_eq(find(0, NULL), "up to 400 MiB is held, but no whole page of it can be returned");
    a->live = 1001 * MIB;
    ck_assert_str_eq(find(0, NULL), "up to 3000 MiB is held, but no whole page of it can be returned");
}
END_TEST

START_TEST(held_and_fragmented)
{
    struct record_allocator *a = fresh(1000 * MIB);

    a->held_before = 400 * MIB;
    ck_assert_str_eq(find(0, NULL), "up to 400 MiB is held, but no whole page of it can be returned");
    a->held_after = 300 * MIB;
    ck_assert_str_eq(find(0, NULL), "up to 300 MiB is held, but no whole page of it can be returned");
    r.n_allocators = 2;
    a[1].held_after = 20 * MIB;
    ck_assert_str_eq(find(0, NULL), "up to 320 MiB is held, but no whole page of it can be returned");
    /* nobody tells, the call went well */
    fresh(1000 * MIB);
    ck_assert_str_eq(find(0, NULL), "not every allocator says what it holds, and no page of it came back");
}
END_TEST

START_TEST(held_by_threads)
{
    fresh(1000 * MIB)->held_after = 300 * MIB;
    ck_assert_str_eq(find(1, NULL), "up to 300 MiB is held in caches that only their own threads can empty");
    fresh(1000 * MIB);
    ck_assert_str_eq(find(1, NULL), "what is held, if anything, lies in caches that only their own threads can empty");
    /* nothing held is nothing held, whatever the allocator is like */
    fresh(1000 * MIB)->held_after = 0;
    ck_assert_str_eq(find(1, NULL), "nothing is held");
}
END_TEST

START_TEST(locked_pages)
{
    static const char locked[] = "600 MiB is locked (VmLck): locked pages cannot be returned";

    fresh(1000 * MIB);
    r.after.locked = 600 * MIB;
    ck_assert_str_eq(find(0, NULL), locked);
    r.allocator[0].held_after = 700 * MIB;
    ck_assert_str_eq(find(1, NULL), locked);
    /* a small part of the process is locked, but all that is held */
    r.before.anon = r.after.anon = 5000 * MIB;
    r.allocator[0].held_after = 590 * MIB;
    ck_assert_str_eq(find(0, NULL), locked);
    r.allocator[0].held_after = 610 * MIB;
    ck_assert_str_eq(find(0, NULL), "up to 610 MiB is held, but no whole page of it can be returned");
    /* mlockall in a process that holds nothing */
    fresh(1000 * MIB)->held_after = 0;
    r.after.locked = 5000 * MIB;
    ck_assert_str_eq(find(0, NULL), "nothing is held");
}
END_TEST

START_TEST(lazily_freed_pages)
{
    static const char lazy[] = "200 MiB is lazily freed (LazyFree): it counts until the kernel needs it";

    fresh(1000 * MIB);
    r.after.lazyfree = 200 * MIB;
    ck_assert_str_eq(find(0, NULL), lazy);
    r.allocator[0].held_after = 0;
    ck_assert_str_eq(find(0, NULL), lazy);
    r.allocator[0].held_after = 300 * MIB;
    ck_assert_str_eq(find(0, NULL), lazy);
    r.allocator[0].held_after = 500 * MIB;
    ck_assert_str_eq(find(0, NULL), "up to 500 MiB is held, but no whole page of it can be returned");
    fresh(1000 * MIB)->held_after = 0;
    r.after.lazyfree = 1023 * 1024;
    ck_assert_str_eq(find(0, NULL), "nothing is held");
}
END_TEST

START_TEST(no_allocator_that_can_be_asked)
{
    fresh(1000 * MIB);
    ck_assert_str_eq(find(0, "libevil\n.so"), "malloc belongs to libevil\\x0a.so, an allocator that cannot be reached");
    r.n_allocators = 0;
    ck_assert_str_eq(find(0, NULL), "no allocator was found that can be asked");
    fresh(1000 * MIB)->error = EINVAL;
    ck_assert_str_eq(find(0, NULL), "every call failed");
}
END_TEST

START_TEST(no_figure_is_too_large)
{
    const int64_t figures[] = {INT64_MIN, -1, 0, 1, MIB, INT64_MAX};

    for (int i = 0; i < 7776; i++) {
        int digit = i;
        int64_t *const places[] = {&r.before.anon, &r.after.anon, &r.after.locked, &r.after.lazyfree,
                                   &r.allocator[0].held_after};
        fresh(0);
        r.n_allocators = 2;
        for (size_t k = 0; k < 5; k++, digit /= 6)
            if (figures[digit % 6] >= 0 || k >= 2)
                *places[k] = figures[digit % 6];
        r.allocator[0].live = r.allocator[1].live = r.allocator[1].held_after = r.allocator[0].held_after;
        const char *found = find(i & 1, NULL);
        ck_assert_uint_lt(strlen(found), sizeof sentence - 1);
        ck_assert(*found);
    }
}
END_TEST

Suite *suite_reason(void)
{
    const TTest *const tests[] = {no_reason_when_enough_came_back,
                                  no_reason_without_evidence,
                                  nothing_is_held,
                                  free_but_not_resident_is_not_held,
                                  held_and_fragmented,
                                  held_by_threads,
                                  locked_pages,
                                  lazily_freed_pages,
                                  no_allocator_that_can_be_asked,
                                  no_figure_is_too_large,
                                  NULL};

    return unit_suite("reason", tests);
}
