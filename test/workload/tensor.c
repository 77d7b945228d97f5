#include "tensor.h"

#include <stdio.h>
#include <stdlib.h>

struct tensor *tensor_new(size_t rows, size_t cols, size_t item)
{
    struct tensor *t = malloc(sizeof *t);
    size_t bytes;
    if (t != NULL && !__builtin_mul_overflow(rows, cols, &bytes) && !__builtin_mul_overflow(bytes, item, &bytes) &&
        (t->data = malloc(bytes)) != NULL) {
        t->rows = rows;
        t->cols = cols;
        return t;
    }
    fprintf(stderr, "no memory for a tensor of %zu x %zu x %zu bytes\n", rows, cols, item);
    exit(1);
}

void tensor_free(struct tensor *t)
{
    if (t != NULL)
        free(t->data);
    free(t);
}
