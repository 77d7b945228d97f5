/* fuzz: one function a parser, with what has to hold whatever the input is. parsers.c has them; main.c runs them over
 * mutations of good inputs, libFuzzer over what it finds (see main.c for both commands). */
#ifndef GIVEBACK_TEST_FUZZ_H
#define GIVEBACK_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_INPUT_MAX 8192

struct fuzz_target {
    const char *name;
    /* The input lies in a block of its own size, so that a sanitizer sees each read beyond it. */
    void (*run)(const char *data, size_t n);
};
extern const struct fuzz_target fuzz_targets[];
extern const size_t fuzz_n_targets;

/* libFuzzer's entry: the first byte chooses the target. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What has to hold; when it does not, the process ends by SIGABRT, which both runners report with the input. */
#define FUZZ_HOLDS(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
