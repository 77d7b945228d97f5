/* seeds: good inputs of each parser, and the words they are made of, for main.c to mutate. */
#ifndef GIVEBACK_TEST_SEEDS_H
#define GIVEBACK_TEST_SEEDS_H

#include <stddef.h>

extern const char *const seeds_words[];
extern const size_t seeds_n_words;

/* One good input of that target (an index of fuzz_targets), chosen by `which`: its length. */
size_t seeds_one(size_t target, size_t which, char *buffer, size_t size);

#endif
