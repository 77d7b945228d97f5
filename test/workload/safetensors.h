/* safetensors: a read-only view of one checkpoint file, mapped into memory.
 *
 * The format: 8 bytes little-endian length, a JSON object of that length (name -> dtype, shape, data_offsets, and an
 * optional __metadata__ of strings), then the tensors' bytes without holes. Everything in the header is checked when the
 * file is opened, so that an entry can be used without a further look. */
#ifndef WORKLOAD_SAFETENSORS_H
#define WORKLOAD_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#define SAFETENSORS_RANK 4
#define SAFETENSORS_NAME 128
#define SAFETENSORS_HEADER_MAX (100u << 20) /* the limit that the format itself states */
#define SAFETENSORS_ERROR 256

struct safetensors_entry {
    char name[SAFETENSORS_NAME];
    char dtype[8];
    unsigned rank;
    uint64_t shape[SAFETENSORS_RANK];
    uint64_t begin, end; /* bytes from the end of the header; once opened, end - begin fits dtype and shape */
};

struct safetensors {
    const unsigned char *map;
    size_t size, base; /* base: where the tensors' bytes start */
    struct safetensors_entry *entries; /* by rising begin */
    size_t count;
};

/* 0, or -1 with one line in `error`: what is wrong, where, and what was expected (the caller names the file). */
int safetensors_open(struct safetensors *st, const char *path, char error[SAFETENSORS_ERROR]);
void safetensors_close(struct safetensors *st);

const struct safetensors_entry *safetensors_find(const struct safetensors *st, const char *name);
const void *safetensors_bytes(const struct safetensors *st, const struct safetensors_entry *entry);

/* IEEE half to float, exactly. */
float safetensors_half(uint16_t bits);

#endif
