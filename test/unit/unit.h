/* unit: what the suites over lib/ share. */
#ifndef GIVEBACK_TEST_UNIT_H
#define GIVEBACK_TEST_UNIT_H

#include <check.h>
#include <stddef.h>

#define SUITE(name) Suite *suite_##name(void);
#include "suites.def"
#undef SUITE

/* A text of test/unit/data, terminated: its length. The test fails when it is not there or does not fit. */
size_t unit_data(const char *name, char *buffer, size_t size);
/* A suite of one case with these tests (a list that ends with NULL). */
Suite *unit_suite(const char *name, const TTest *const *tests);

#endif
