#include "gptq.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "w4a8.h"

/* The tensor NAME.suffix with this dtype and shape (cols 0: a vector), or NULL with one line in `error`. */
static const struct safetensors_entry *find_part(const struct safetensors *st, const char *name, const char *dtype,
                                                 size_t rows, size_t cols, char *error)
{
    const struct safetensors_entry *e = safetensors_find(st, name);
    unsigned rank = cols ? 2 : 1;
    if (e == NULL)
        snprintf(error, GPTQ_ERROR, "%s is missing", name);
    else if (strcmp(e->dtype, dtype) != 0 || e->rank != rank || e->shape[0] != rows || (cols && e->shape[1] != cols))
        snprintf(error, GPTQ_ERROR, "%s is %s of rank %u, expected %s [%zu%s%.0zu]", name, e->dtype, e->rank, dtype, rows,
                 cols ? ", " : "", cols);
    else
        return e;
    return NULL;
}

/* 0 when every half of the tensor is a finite number. */
static int finite_check(const struct safetensors *st, const struct safetensors_entry *e, char *error)
{
    const unsigned char *bytes = safetensors_bytes(st, e);
    for (size_t i = 0; i < (size_t)(e->end - e->begin) / 2; i++)
        if ((bytes[2 * i + 1] & 0x7c) == 0x7c) {
            snprintf(error, GPTQ_ERROR, "%s: element %zu is no finite number", e->name, i);
            return -1;
        }
    return 0;
}

static int groups_check(const struct safetensors *st, const struct gptq_entries *e, char *error)
{
    const unsigned char *g = safetensors_bytes(st, e->g_idx);
    for (size_t k = 0; k < e->k; k++) {
        uint32_t group;
        memcpy(&group, g + 4 * k, 4);
        if (group >= e->groups) {
            snprintf(error, GPTQ_ERROR, "%s: element %zu is %u, expected less than %zu groups", e->g_idx->name, k, group,
                     e->groups);
            return -1;
        }
    }
    return 0;
}

const struct safetensors_entry *gptq_vector(const struct safetensors *st, const char *name, size_t n, char error[GPTQ_ERROR])
{
    const struct safetensors_entry *e = find_part(st, name, "F16", n, 0, error);
    return e != NULL && finite_check(st, e, error) == 0 ? e : NULL;
}

int gptq_find(struct gptq_entries *e, const struct safetensors *st, const char *name, char error[GPTQ_ERROR])
{
    char part[5][SAFETENSORS_NAME + 16];
    static const char *const suffix[5] = { "qweight", "qzeros", "scales", "g_idx", "bias" };
    for (int i = 0; i < 5; i++)
        snprintf(part[i], sizeof part[i], "%s.%s", name, suffix[i]);
    memset(e, 0, sizeof *e);
    const struct safetensors_entry *q = safetensors_find(st, part[0]), *s = safetensors_find(st, part[2]);
    if (q == NULL)
        return 1;
    if (q->rank != 2 || q->shape[0] == 0 || q->shape[0] > W4A8_INPUTS_MAX / 8 || q->shape[1] == 0 ||
        q->shape[1] > W4A8_OUTPUTS_MAX || q->shape[1] % 8 != 0) {
        snprintf(error, GPTQ_ERROR, "%s: expected [K/8, N] with K up to %u, N up to %u and a multiple of 8", part[0],
                 W4A8_INPUTS_MAX, W4A8_OUTPUTS_MAX);
        return -1;
    }
    e->k = (size_t)q->shape[0] * 8;
    e->n = (size_t)q->shape[1];
    e->groups = s != NULL && s->rank == 2 ? (size_t)s->shape[0] : 1;
    if ((e->qweight = find_part(st, part[0], "I32", e->k / 8, e->n, error)) == NULL ||
        (e->scales = find_part(st, part[2], "F16", e->groups, e->n, error)) == NULL ||
        (e->qzeros = find_part(st, part[1], "I32", e->groups, e->n / 8, error)) == NULL ||
        (e->g_idx = find_part(st, part[3], "I32", e->k, 0, error)) == NULL ||
        (e->bias = gptq_vector(st, part[4], e->n, error)) == NULL)
        return -1;
    return groups_check(st, e, error) != 0 ? -1 : finite_check(st, e->scales, error);
}

/* The tensor as it stands in the file. */
static struct tensor *load_parameter(const struct safetensors *st, const struct safetensors_entry *e, size_t item)
{
    struct tensor *t = tensor_new((size_t)e->shape[0], e->rank == 2 ? (size_t)e->shape[1] : 1, item);
    memcpy(t->data, safetensors_bytes(st, e), (size_t)(e->end - e->begin));
    return t;
}

struct tensor *gptq_load_vector(const struct safetensors *st, const struct safetensors_entry *e)
{
    struct tensor *t = tensor_new(1, (size_t)e->shape[0], 4);
    const char *halves = safetensors_bytes(st, e);
    for (size_t i = 0; i < t->cols; i++) {
        uint16_t half;
        memcpy(&half, halves + 2 * i, 2);
        t->f32[i] = safetensors_half(half);
    }
    return t;
}

void gptq_load(struct gptq_linear *l, const struct safetensors *st, const struct gptq_entries *e)
{
    *l = (struct gptq_linear){ .k = e->k, .n = e->n };
    l->qweight = load_parameter(st, e->qweight, 4);
    l->qzeros = load_parameter(st, e->qzeros, 4);
    l->scales = load_parameter(st, e->scales, 2);
    l->g_idx = load_parameter(st, e->g_idx, 4);
    l->bias = gptq_load_vector(st, e->bias);
}

/* int32 [K, N] of the codes. */
static struct tensor *unpack_codes(const struct tensor *qweight)
{
    size_t n = qweight->cols;
    struct tensor *codes = tensor_new(8 * qweight->rows, n, 4);
    for (size_t row = 0; row < qweight->rows; row++)
        for (unsigned j = 0; j < 8; j++) {
            const uint32_t *from = qweight->u32 + row * n;
            int32_t *to = codes->i32 + (8 * row + j) * n;
            for (size_t i = 0; i < n; i++)
                to[i] = (int32_t)(from[i] >> 4 * j & 15);
        }
    return codes;
}

/* int32 [N, K] of int32 [K, N], in blocks that stay in the cache. */
static struct tensor *permute(const struct tensor *codes)
{
    enum { BLOCK = 32 };
    size_t rows = codes->rows, cols = codes->cols;
    struct tensor *out = tensor_new(cols, rows, 4);
    for (size_t r0 = 0; r0 < rows; r0 += BLOCK)
        for (size_t c0 = 0; c0 < cols; c0 += BLOCK) {
            size_t r1 = r0 + BLOCK < rows ? r0 + BLOCK : rows, c1 = c0 + BLOCK < cols ? c0 + BLOCK : cols;
            for (size_t c = c0; c < c1; c++)
                for (size_t r = r0; r < r1; r++)
                    out->i32[c * rows + r] = codes->i32[r * cols + c];
        }
    return out;
}

/* The zero of output n in group g, less the one that the format leaves out. */
static int32_t zero_of(const struct gptq_linear *l, size_t g, size_t n)
{
    return (int32_t)(l->qzeros->u32[g * l->qzeros->cols + n / 8] >> 4 * (n % 8) & 15) + 1;
}

static void narrow_row(const int32_t *restrict from, const int32_t *restrict zeros, const int32_t *restrict group,
                       int8_t *restrict to, size_t k)
{
    for (size_t i = 0; i < k; i++)
        to[i] = (int8_t)(from[i] - zeros[group[i]]);
}

/* int8 [N, K] of int32 [N, K]: the zeros taken off. */
static struct tensor *narrow(const struct gptq_linear *l, const struct tensor *permuted)
{
    struct tensor *out = tensor_new(l->n, l->k, 1), *zeros = tensor_new(1, l->scales->rows, 4);
    for (size_t n = 0; n < l->n; n++) {
        for (size_t g = 0; g < zeros->cols; g++)
            zeros->i32[g] = zero_of(l, g, n);
        narrow_row(permuted->i32 + n * l->k, zeros->i32, l->g_idx->i32, out->i8 + n * l->k, l->k);
    }
    tensor_free(zeros);
    return out;
}

/* One output's row: its group scales become one scale, its weights int8 in units of that. Returns the scale.
 * `row` and `scales` are scratch, of K and of G floats. */
static float requantize_row(const struct gptq_linear *l, size_t n, const int8_t *from, int8_t *to, float *row, float *scales)
{
    float largest = 0;
    for (size_t g = 0; g < l->scales->rows; g++)
        scales[g] = safetensors_half(l->scales->u16[g * l->n + n]);
    for (size_t k = 0; k < l->k; k++)
        row[k] = (float)from[k] * scales[l->g_idx->i32[k]];
    for (size_t k = 0; k < l->k; k++)
        largest = fabsf(row[k]) > largest ? fabsf(row[k]) : largest;
    float inverse = largest > 0 ? 127.0f / largest : 0.0f;
    for (size_t k = 0; k < l->k; k++)
        to[k] = w4a8_round(row[k] * inverse);
    return largest / 127.0f;
}

/* Exported, and kept whole (no clone, no inlining), so that a tool can name it from outside. */
__attribute__((noipa)) void repack_weights(struct gptq_linear *l)
{
    struct tensor *codes = unpack_codes(l->qweight);
    tensor_free(l->qweight);
    struct tensor *permuted = permute(codes);
    tensor_free(codes);
    struct tensor *narrowed = narrow(l, permuted);
    tensor_free(permuted);
    l->weight = tensor_new(l->n, l->k, 1);
    l->scale = tensor_new(1, l->n, 4);
    struct tensor *row = tensor_new(1, l->k, 4), *scales = tensor_new(1, l->scales->rows, 4);
    for (size_t n = 0; n < l->n; n++)
        l->scale->f32[n] = requantize_row(l, n, narrowed->i8 + n * l->k, l->weight->i8 + n * l->k, row->f32, scales->f32);
    tensor_free(scales);
    tensor_free(row);
    tensor_free(narrowed);
    tensor_free(l->qzeros);
    tensor_free(l->scales);
    tensor_free(l->g_idx);
    l->qweight = l->qzeros = l->scales = l->g_idx = NULL;
}

void gptq_free(struct gptq_linear *l)
{
    struct tensor *all[] = { l->weight, l->scale, l->bias, l->qweight, l->qzeros, l->scales, l->g_idx };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        tensor_free(all[i]);
    memset(l, 0, sizeof *l);
}
