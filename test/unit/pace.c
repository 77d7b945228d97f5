#include "pace.h"
#include "unit.h"

#define MIB (INT64_C(1) << 20)
#define SECOND INT64_C(1000000000)

/* A process that takes back at once what it is given: each automatic release sees all of it again. */
START_TEST(the_back_off_doubles_to_its_most_while_everything_comes_back)
{
    struct pace p;
    int64_t now = 5 * SECOND;

    pace_start(&p, SECOND);
    ck_assert_int_eq(p.due, 0);
    for (unsigned factor = 1, n = 0; n < 12; n++, factor = factor < PACE_MOST ? 2 * factor : PACE_MOST) {
        pace_acted(&p, 300 * MIB, 100 * MIB, true, now);
        ck_assert_uint_eq(p.factor, factor);
        ck_assert_int_eq(p.due, now + SECOND * factor);
        now = p.due;
    }
}
END_TEST

START_TEST(it_falls_when_less_than_a_quarter_comes_back_and_stays_in_between)
{
    struct pace p;

    pace_start(&p, SECOND);
    for (int i = 0; i < 5; i++)
        pace_acted(&p, 300 * MIB, 100 * MIB, true, 0);
    ck_assert_uint_eq(p.factor, 16);
    pace_acted(&p, 160 * MIB, 100 * MIB, true, 0); /* 60 of 200 came back */
    ck_assert_uint_eq(p.factor, 16);
    pace_acted(&p, 114 * MIB, 100 * MIB, true, 0); /* 14 of 60 */
    ck_assert_uint_eq(p.factor, 8);
    pace_acted(&p, 102 * MIB, 100 * MIB, true, 0); /* 2 of 14 */
    ck_assert_uint_eq(p.factor, 4);
}
END_TEST

START_TEST(growth_well_beyond_begins_again)
{
    struct pace p;

    pace_start(&p, SECOND);
    for (int i = 0; i < 5; i++)
        pace_acted(&p, 300 * MIB, 100 * MIB, true, 0);
    pace_acted(&p, 563 * MIB, 300 * MIB, true, 0); /* 463 of 200, not yet 2 * 200 + 64 */
    ck_assert_uint_eq(p.factor, 32);
    pace_acted(&p, (300 + 2 * 263 + 64) * MIB, 300 * MIB, true, 0);
    ck_assert_uint_eq(p.factor, 1);
}
END_TEST

START_TEST(one_that_gives_nothing_slows_down_too)
{
    struct pace p;

    pace_start(&p, SECOND);
    pace_acted(&p, 100 * MIB, 100 * MIB, true, 0);
    ck_assert_uint_eq(p.factor, 2);
    pace_acted(&p, 101 * MIB, 101 * MIB - (MIB - 1), true, 0);
    ck_assert_uint_eq(p.factor, 4);
}
END_TEST

/* Somebody asked: it is judged as well, but makes nobody wait. */
START_TEST(a_release_that_was_asked_for_makes_none_wait)
{
    struct pace p;

    pace_start(&p, SECOND);
    pace_acted(&p, 300 * MIB, 100 * MIB, false, 7 * SECOND);
    pace_acted(&p, 300 * MIB, 100 * MIB, false, 8 * SECOND);
    ck_assert_int_eq(p.due, 0);
    ck_assert_uint_eq(p.factor, 2);
}
END_TEST

START_TEST(unknown_figures_are_no_verdict)
{
    struct pace p;

    pace_start(&p, SECOND);
    pace_acted(&p, 300 * MIB, 100 * MIB, true, 0);
    pace_acted(&p, -1, 100 * MIB, true, 0);
    pace_acted(&p, 300 * MIB, 100 * MIB, true, 0); /* nothing to compare with */
    pace_acted(&p, 300 * MIB, -1, true, 0);
    ck_assert_uint_eq(p.factor, 2); /* the last one saw 200 of 200 */
    pace_acted(&p, 300 * MIB, 100 * MIB, true, 0);
    ck_assert_uint_eq(p.factor, 2);
}
END_TEST

START_TEST(settle_waits_for_growth_and_quiet)
{
    struct pace_settle s = {0};

    ck_assert_int_eq(pace_settle_look(&s, 63 * MIB, 3600 * SECOND, 2 * SECOND), PACE_WAIT);
    ck_assert_int_eq(pace_settle_look(&s, 64 * MIB, 2 * SECOND - 1, 2 * SECOND), PACE_WAIT);
    ck_assert_int_eq(pace_settle_look(&s, -1, 2 * SECOND, 2 * SECOND), PACE_WAIT);
    ck_assert_int_eq(pace_settle_look(&s, 64 * MIB, 2 * SECOND, 2 * SECOND), PACE_RELEASE);
    s.base = 1000 * MIB; /* a tenth counts too */
    ck_assert_int_eq(pace_settle_look(&s, 1099 * MIB, 2 * SECOND, 2 * SECOND), PACE_WAIT);
    ck_assert_int_eq(pace_settle_look(&s, 1100 * MIB, 2 * SECOND, 2 * SECOND), PACE_RELEASE);
}
END_TEST

/* A server after its load: 3000 MiB go back; then each request takes 200 MiB that stay. */
START_TEST(settle_stops_once_what_it_gave_back_comes_back)
{
    struct pace_settle s = {0};

    ck_assert_int_eq(pace_settle_look(&s, 6000 * MIB, 2 * SECOND, 2 * SECOND), PACE_RELEASE);
    pace_settle_acted(&s, 6000 * MIB, 1000 * MIB, true);
    ck_assert_int_eq(pace_settle_look(&s, 1200 * MIB, 59 * SECOND, 2 * SECOND), PACE_WAIT);
    ck_assert_int_eq(pace_settle_look(&s, 1200 * MIB, 60 * SECOND, 2 * SECOND), PACE_RELEASE);
    pace_settle_acted(&s, 1200 * MIB, 1000 * MIB, true);
    ck_assert_int_eq(pace_settle_look(&s, 1200 * MIB, 60 * SECOND, 2 * SECOND), PACE_STOP);
    ck_assert_int_eq(pace_settle_look(&s, 1200 * MIB, 3600 * SECOND, 2 * SECOND), PACE_WAIT);
    /* Another model is loaded. */
    ck_assert_int_eq(pace_settle_look(&s, 1463 * MIB, 60 * SECOND, 2 * SECOND), PACE_WAIT);
    ck_assert_int_eq(pace_settle_look(&s, 1464 * MIB, 2 * SECOND - 1, 2 * SECOND), PACE_WAIT);
    ck_assert_int_eq(pace_settle_look(&s, 1464 * MIB, 2 * SECOND, 2 * SECOND), PACE_RELEASE);
    ck_assert(!s.stopped);
}
END_TEST

START_TEST(a_record_of_anything_else_is_the_new_base_of_settle)
{
    struct pace_settle s = {0};

    pace_settle_acted(&s, 500 * MIB, 400 * MIB, false);
    ck_assert_int_eq(pace_settle_look(&s, 450 * MIB, 2 * SECOND, 2 * SECOND), PACE_WAIT);
    ck_assert_int_eq(pace_settle_look(&s, 464 * MIB, 2 * SECOND, 2 * SECOND), PACE_RELEASE);
    pace_settle_acted(&s, 500 * MIB, -1, false); /* unreadable */
    ck_assert_int_eq(s.base, 400 * MIB);
}
END_TEST

Suite *suite_pace(void)
{
    const TTest *const tests[] = {the_back_off_doubles_to_its_most_while_everything_comes_back,
                                  it_falls_when_less_than_a_quarter_comes_back_and_stays_in_between,
                                  growth_well_beyond_begins_again,
                                  one_that_gives_nothing_slows_down_too,
                                  a_release_that_was_asked_for_makes_none_wait,
                                  unknown_figures_are_no_verdict,
                                  settle_waits_for_growth_and_quiet,
                                  settle_stops_once_what_it_gave_back_comes_back,
                                  a_record_of_anything_else_is_the_new_base_of_settle,
                                  NULL};

    return unit_suite("pace", tests);
}
