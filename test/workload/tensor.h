/* tensor: a matrix on the heap, by plain malloc and free, as a program does that leaves memory to its allocator. */
#ifndef WORKLOAD_TENSOR_H
#define WORKLOAD_TENSOR_H

#include <stddef.h>
#include <stdint.h>

struct tensor {
    size_t rows, cols;
    union {
        void *data;
        int8_t *i8;
        uint16_t *u16;
        int32_t *i32;
        uint32_t *u32;
        float *f32;
    };
};

/* `item` is the size of one element. Never NULL: without memory the program ends with one line. The content is not initialised. */
struct tensor *tensor_new(size_t rows, size_t cols, size_t item);
void tensor_free(struct tensor *t);

#endif
