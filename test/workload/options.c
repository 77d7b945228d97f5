#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t options_number(const char *name, const char *text, uint64_t low, uint64_t high)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || v < low || v > high) {
        fprintf(stderr, "%s: '%s', expected a number from %" PRIu64 " to %" PRIu64 "\n", name, text, low, high);
        exit(2);
    }
    return v;
}
