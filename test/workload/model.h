/* model: a stack of layers (norm, up, ReLU, down, residual) and a head, loaded from a GPTQ checkpoint and served in W4A8.
 *
 *   model.layers.I.norm.weight F16 [K]    model.layers.I.mlp.up_proj [K -> N]    model.layers.I.mlp.down_proj [N -> K]
 *   model.norm.weight F16 [K]             lm_head [K -> vocabulary], both or neither */
#ifndef WORKLOAD_MODEL_H
#define WORKLOAD_MODEL_H

#include "gptq.h"
#include "w4a8.h"

struct model_layer {
    struct tensor *norm;
    struct gptq_linear up, down;
};

struct model {
    const char *path; /* the caller's, as long as the model is open */
    struct safetensors file;
    size_t layers, k, n, vocabulary; /* vocabulary 0: no head */
    struct model_layer *layer;
    struct tensor *norm;
    struct gptq_linear head;
};

/* Opens the checkpoint and finds the model's shape: 0, or -1 with one line in `error`. */
int model_open(struct model *m, const char *path, char error[GPTQ_ERROR]);
/* Reads the whole file once, then all parameters, then repacks them layer by layer, with a log line (printf) for each, and
 * closes the file, which is no longer needed: 0 or -1 as above. */
int model_load(struct model *m, char error[GPTQ_ERROR]);
void model_close(struct model *m);

/* The answer to one request, after `layers` layers, and with the head when these are all. Any number of threads. */
struct w4a8_answer model_run(const struct model *m, uint64_t seed, size_t layers);

/* Where the parts of layer i (or, for i == m->layers, of the head: up only) are; 0 or -1 as above. */
struct model_part {
    struct gptq_entries up, down;
    const struct safetensors_entry *norm;
};
int model_part(const struct model *m, size_t i, struct model_part *part, char error[GPTQ_ERROR]);

#endif
