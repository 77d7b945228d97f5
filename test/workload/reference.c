#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scratch for rows of up to `size` elements. */
struct scratch {
    float *weight, *largest, *scale, *normed;
    int32_t *zero, *sum;
    int8_t *q;
};

static uint32_t word_at(const unsigned char *bytes, size_t index)
{
    uint32_t w;
    memcpy(&w, bytes + 4 * index, 4);
    return w;
}

/* The weights of input k to all outputs, in weight[]. Scales and zeros are read when the group is another than before. */
static void decode_row(const struct safetensors *st, const struct gptq_entries *e, size_t k, size_t *group, struct scratch *s)
{
    const unsigned char *codes = safetensors_bytes(st, e->qweight), *zeros = safetensors_bytes(st, e->qzeros);
    const unsigned char *scales = safetensors_bytes(st, e->scales);
    size_t g = word_at(safetensors_bytes(st, e->g_idx), k);
    for (size_t n = 0; n < e->n && g != *group; n++) {
        uint16_t half;
        memcpy(&half, scales + 2 * (g * e->n + n), 2);
        s->scale[n] = safetensors_half(half);
        s->zero[n] = (int32_t)(word_at(zeros, g * (e->n / 8) + n / 8) >> 4 * (n % 8) & 15) + 1;
    }
    *group = g;
    for (size_t n = 0; n < e->n; n++)
        s->weight[n] = (float)((int32_t)(word_at(codes, k / 8 * e->n + n) >> 4 * (k % 8) & 15) - s->zero[n]) * s->scale[n];
}

/* y[N] of x[K], normed first when `norm` is given. Twice over the weights: for each output's largest, then the sums. */
static void linear(const struct safetensors *st, const struct gptq_entries *e, const float *norm, const float *x, float *y,
                   struct scratch *s)
{
    float x_scale = w4a8_quantize(x, norm, s->q, s->normed, e->k);
    size_t group = SIZE_MAX;
    memset(s->largest, 0, e->n * sizeof *s->largest);
    memset(s->sum, 0, e->n * sizeof *s->sum);
    for (size_t k = 0; k < e->k; k++) {
        decode_row(st, e, k, &group, s);
        for (size_t n = 0; n < e->n; n++)
            s->largest[n] = fabsf(s->weight[n]) > s->largest[n] ? fabsf(s->weight[n]) : s->largest[n];
    }
    for (size_t n = 0; n < e->n; n++)
        y[n] = s->largest[n] > 0 ? 127.0f / s->largest[n] : 0.0f; /* for now: what a weight is multiplied with */
    for (size_t k = 0; k < e->k; k++) {
        decode_row(st, e, k, &group, s);
        for (size_t n = 0; n < e->n; n++)
            s->sum[n] += s->q[k] * w4a8_round(s->weight[n] * y[n]);
    }
    struct tensor *bias = gptq_load_vector(st, e->bias);
    for (size_t n = 0; n < e->n; n++)
        y[n] = (float)s->sum[n] * (x_scale * (s->largest[n] / 127.0f)) + bias->f32[n];
    tensor_free(bias);
}

static int run(const struct model *m, uint64_t seed, size_t layers, struct w4a8_answer *a, struct tensor *x, struct tensor *y,
               struct scratch *s, char *error)
{
    struct model_part part;
    w4a8_input(seed, x->f32, m->k);
    for (size_t i = 0; i < layers; i++) {
        if (model_part(m, i, &part, error) != 0)
            return -1;
        struct tensor *norm = gptq_load_vector(&m->file, part.norm), *out = tensor_new(1, m->k, 4);
        linear(&m->file, &part.up, norm->f32, x->f32, y->f32, s);
        for (size_t n = 0; n < m->n; n++)
            y->f32[n] = y->f32[n] > 0 ? y->f32[n] : 0;
        linear(&m->file, &part.down, NULL, y->f32, out->f32, s);
        for (size_t k = 0; k < m->k; k++)
            x->f32[k] += out->f32[k];
        tensor_free(out);
        tensor_free(norm);
    }
    *a = (struct w4a8_answer){ .hash = w4a8_hash(x->f32, m->k), .token = -1 };
    if (layers < m->layers || m->vocabulary == 0)
        return 0;
    if (model_part(m, m->layers, &part, error) != 0)
        return -1;
    struct tensor *norm = gptq_load_vector(&m->file, part.norm);
    linear(&m->file, &part.up, norm->f32, x->f32, y->f32, s);
    tensor_free(norm);
    *a = (struct w4a8_answer){ w4a8_hash(y->f32, m->vocabulary), w4a8_largest(y->f32, m->vocabulary) };
    return 0;
}

int reference_run(const struct model *m, uint64_t seed, size_t layers, struct w4a8_answer *answer, char error[GPTQ_ERROR])
{
    size_t size = m->k > m->n ? m->k : m->n;
    size = size > m->vocabulary ? size : m->vocabulary;
    struct tensor *rows = tensor_new(6, size, 4), *bytes = tensor_new(1, size, 1);
    struct tensor *x = tensor_new(1, size, 4), *y = tensor_new(1, size, 4);
    struct scratch s = { .weight = rows->f32,           .largest = rows->f32 + size,  .scale = rows->f32 + 2 * size,
                         .normed = rows->f32 + 3 * size, .zero = rows->i32 + 4 * size, .sum = rows->i32 + 5 * size,
                         .q = bytes->i8 };
    int result = -1;
    if (layers > m->layers)
        snprintf(error, GPTQ_ERROR, "%zu layers asked for, the model has %zu", layers, m->layers);
    else
        result = run(m, seed, layers ? layers : m->layers, answer, x, y, &s, error);
    struct tensor *all[] = { rows, bytes, x, y };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        tensor_free(all[i]);
    return result;
}
