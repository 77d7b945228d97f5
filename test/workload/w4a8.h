/* w4a8: the arithmetic that the server and the client's reference agree on, and the names in the checkpoint.
 *
 * Products are int8 x int8 summed in int32, so they are exact in any order: the server's blocked, vectorized, threaded
 * path and the reference's naive one must come to the same bits. Everything in floating point is one operation an
 * element, in a fixed order (build with -ffp-contract=off: a fused multiply-add would round differently). */
#ifndef WORKLOAD_W4A8_H
#define WORKLOAD_W4A8_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define W4A8_LAYERS_MAX 1000
#define W4A8_INPUTS_MAX (1u << 17) /* so many products of two int8 stay within int32: 2^17 * 127 * 127 < 2^31 */
#define W4A8_OUTPUTS_MAX (1u << 20)

/* The request's answer. */
struct w4a8_answer {
    uint64_t hash; /* over the bits of the result */
    long token;    /* where the head's largest logit is; -1: stopped before the head */
};

/* splitmix64: the next of a sequence that `state` stands in. */
static inline uint64_t w4a8_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* The request's input: n floats in [-1, 1), from its seed alone. */
static inline void w4a8_input(uint64_t seed, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(int32_t)(w4a8_random(&seed) >> 40) * 0x1p-23f - 1.0f;
}

/* To the nearest whole number, halves away from zero; |v| is at most 127.5 here. */
static inline int8_t w4a8_round(float v)
{
    return (int8_t)(v + copysignf(0.5f, v)); /* no branch: signs are random, a mispredicted one costs more than the rest */
}

/* Root-mean-square norm, then int8 with one scale for the whole vector, which is returned. */
static inline float w4a8_quantize(const float *x, const float *weight, int8_t *q, float *scratch, size_t n)
{
    double sum = 0;
    float largest = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    float norm = weight != NULL ? (float)(1.0 / sqrt(sum / (double)n + 1e-6)) : 1.0f;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = weight != NULL ? x[i] * norm * weight[i] : x[i];
        float size = fabsf(scratch[i]);
        largest = size > largest ? size : largest;
    }
    float inverse = largest > 0 ? 127.0f / largest : 0.0f;
    for (size_t i = 0; i < n; i++)
        q[i] = w4a8_round(scratch[i] * inverse);
    return largest / 127.0f;
}

static inline uint64_t w4a8_hash(const float *x, size_t n)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++) {
        union {
            float f;
            uint32_t u;
        } v = { .f = x[i] };
        h = (h ^ v.u) * UINT64_C(1099511628211);
    }
    return h;
}

static inline long w4a8_largest(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return (long)best;
}

#endif
