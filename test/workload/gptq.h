/* gptq: one quantized linear of a GPTQ checkpoint (4 bits, any group size), and its repacking to int8.
 *
 * In the file, for K inputs and N outputs in G groups:
 *   NAME.qweight I32 [K/8, N]  8 codes a word along the inputs, the lowest nibble first
 *   NAME.qzeros  I32 [G, N/8]  the same along the outputs, stored less one
 *   NAME.scales  F16 [G, N]
 *   NAME.g_idx   I32 [K]       the group of each input
 *   NAME.bias    F16 [N]
 * A weight is (code - zero - 1) * scale. */
#ifndef WORKLOAD_GPTQ_H
#define WORKLOAD_GPTQ_H

#include "safetensors.h"
#include "tensor.h"

#define GPTQ_ERROR (SAFETENSORS_ERROR + SAFETENSORS_NAME)

/* Where the tensors of a linear are in the file, checked against each other. */
struct gptq_entries {
    size_t k, n, groups;
    const struct safetensors_entry *qweight, *qzeros, *scales, *g_idx, *bias;
};

/* 0; 1: the file has no such linear; -1: it is bad, with one line in `error`. */
int gptq_find(struct gptq_entries *e, const struct safetensors *st, const char *name, char error[GPTQ_ERROR]);

/* The F16 vector `name` of n finite elements, or NULL with one line in `error`. */
const struct safetensors_entry *gptq_vector(const struct safetensors *st, const char *name, size_t n, char error[GPTQ_ERROR]);
/* Such a vector as floats. */
struct tensor *gptq_load_vector(const struct safetensors *st, const struct safetensors_entry *e);

/* A linear as it is served: int8 [N, K], one scale and one bias an output. */
struct gptq_linear {
    size_t k, n;
    struct tensor *weight, *scale, *bias;
    struct tensor *qweight, *qzeros, *scales, *g_idx; /* as loaded, NULL after the repack */
};

/* Copies the linear's parameters out of the file. */
void gptq_load(struct gptq_linear *l, const struct safetensors *st, const struct gptq_entries *e);
/* Makes weight and scale of what gptq_load brought, and drops that. */
void repack_weights(struct gptq_linear *l);
void gptq_free(struct gptq_linear *l);

#endif
