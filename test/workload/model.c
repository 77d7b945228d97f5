#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int model_part(const struct model *m, size_t i, struct model_part *part, char error[GPTQ_ERROR])
{
    char name[64];
    memset(part, 0, sizeof *part);
    if (i == m->layers) {
        int found = gptq_find(&part->up, &m->file, "lm_head", error);
        if (found != 0)
            return found; /* 1: a model without a head */
        part->norm = gptq_vector(&m->file, "model.norm.weight", part->up.k, error);
        return part->norm != NULL ? 0 : -1;
    }
    snprintf(name, sizeof name, "model.layers.%zu.mlp.up_proj", i);
    int found = gptq_find(&part->up, &m->file, name, error);
    if (found != 0)
        return found;
    snprintf(name, sizeof name, "model.layers.%zu.mlp.down_proj", i);
    if ((found = gptq_find(&part->down, &m->file, name, error)) != 0) {
        if (found > 0)
            snprintf(error, GPTQ_ERROR, "%s.qweight is missing", name);
        return -1;
    }
    if (part->up.k != part->down.n || part->up.n != part->down.k) {
        snprintf(error, GPTQ_ERROR, "%s is %zu -> %zu, expected %zu -> %zu", name, part->down.k, part->down.n, part->up.n,
                 part->up.k);
        return -1;
    }
    snprintf(name, sizeof name, "model.layers.%zu.norm.weight", i);
    part->norm = gptq_vector(&m->file, name, part->up.k, error);
    return part->norm != NULL ? 0 : -1;
}

/* Walks over the layers and the head until one is not there; they must all have the first one's shape. */
static int find_shape(struct model *m, char *error)
{
    struct model_part part;
    size_t layers = 0;
    int found;
    m->layers = W4A8_LAYERS_MAX; /* no index below it stands for the head yet */
    for (size_t i = 0; i < W4A8_LAYERS_MAX && (found = model_part(m, i, &part, error)) != 1; i++) {
        if (found < 0)
            return -1;
        if (i == 0) {
            m->k = part.up.k;
            m->n = part.up.n;
        } else if (part.up.k != m->k || part.up.n != m->n) {
            snprintf(error, GPTQ_ERROR, "layer %zu is %zu x %zu, layer 0 is %zu x %zu: expected the same", i, part.up.k,
                     part.up.n, m->k, m->n);
            return -1;
        }
        layers = i + 1;
    }
    if ((m->layers = layers) == 0) {
        snprintf(error, GPTQ_ERROR, "model.layers.0.mlp.up_proj.qweight is missing: no model of this kind");
        return -1;
    }
    if ((found = model_part(m, m->layers, &part, error)) < 0)
        return -1;
    if (found == 0 && part.up.k != m->k) {
        snprintf(error, GPTQ_ERROR, "lm_head has %zu inputs, expected %zu", part.up.k, m->k);
        return -1;
    }
    m->vocabulary = found == 0 ? part.up.n : 0;
    return 0;
}

int model_open(struct model *m, const char *path, char error[GPTQ_ERROR])
{
    memset(m, 0, sizeof *m);
    m->path = path;
    if (safetensors_open(&m->file, path, error) != 0)
        return -1;
    if (find_shape(m, error) != 0) {
        model_close(m);
        return -1;
    }
    return 0;
}

/* Reads the file from its start to its end, so that it is in the page cache when its pages are wanted in no order. */
static int prefetch(const char *path, char *error)
{
    enum { PIECE = 16 << 20 };
    ssize_t n = -1;
    size_t total = 0;
    char *buffer = malloc(PIECE);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (buffer != NULL && fd >= 0 && ((n = read(fd, buffer, PIECE)) > 0 || (n < 0 && errno == EINTR)))
        total += n > 0 ? (size_t)n : 0;
    if (n != 0)
        snprintf(error, GPTQ_ERROR, "cannot be read: %s", strerror(errno));
    else
        printf("prefetched %zu MB\n", total / 1000000);
    if (fd >= 0)
        close(fd);
    free(buffer);
    return n == 0 ? 0 : -1;
}

static int read_parameters(struct model *m, char *error)
{
    struct model_part part;
    m->layer = calloc(m->layers, sizeof *m->layer);
    if (m->layer == NULL) {
        snprintf(error, GPTQ_ERROR, "no memory for %zu layers", m->layers);
        return -1;
    }
    for (size_t i = 0; i < m->layers; i++) {
        if (model_part(m, i, &part, error) != 0)
            return -1;
        m->layer[i].norm = gptq_load_vector(&m->file, part.norm);
        gptq_load(&m->layer[i].up, &m->file, &part.up);
        gptq_load(&m->layer[i].down, &m->file, &part.down);
    }
    if (m->vocabulary > 0) {
        if (model_part(m, m->layers, &part, error) != 0)
            return -1;
        m->norm = gptq_load_vector(&m->file, part.norm);
        gptq_load(&m->head, &m->file, &part.up);
    }
    return 0;
}

int model_load(struct model *m, char error[GPTQ_ERROR])
{
    printf("loading weights: %zu layers of %zu x %zu, vocabulary %zu\n", m->layers, m->k, m->n, m->vocabulary);
    if (prefetch(m->path, error) != 0 || read_parameters(m, error) != 0)
        return -1;
    printf("weights loaded\n");
    for (size_t i = 0; i < m->layers; i++) {
        repack_weights(&m->layer[i].up);
        repack_weights(&m->layer[i].down);
        printf("layer %zu repacked\n", i);
    }
    if (m->vocabulary > 0) {
        repack_weights(&m->head);
        printf("head repacked\n");
    }
    safetensors_close(&m->file);
    printf("model loaded\n");
    return 0;
}

void model_close(struct model *m)
{
    for (size_t i = 0; m->layer != NULL && i < m->layers; i++) {
        tensor_free(m->layer[i].norm);
        gptq_free(&m->layer[i].up);
        gptq_free(&m->layer[i].down);
    }
    free(m->layer);
    tensor_free(m->norm);
    gptq_free(&m->head);
    safetensors_close(&m->file);
    memset(m, 0, sizeof *m);
}

/* int8 x int8 in int32: written so that the compiler vectorizes it, exact whichever way it does. */
static int32_t dot(const int8_t *restrict a, const int8_t *restrict b, size_t n)
{
    int32_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y[N] of x[K]: normed when there is a norm, quantized, multiplied, scaled. */
static void linear_run(const struct gptq_linear *l, const struct tensor *norm, const float *x, float *y)
{
    struct tensor *q = tensor_new(1, l->k, 1), *scratch = tensor_new(1, l->k, 4);
    float scale = w4a8_quantize(x, norm != NULL ? norm->f32 : NULL, q->i8, scratch->f32, l->k);
    for (size_t n = 0; n < l->n; n++)
        y[n] = (float)dot(q->i8, l->weight->i8 + n * l->k, l->k) * (scale * l->scale->f32[n]) + l->bias->f32[n];
    tensor_free(scratch);
    tensor_free(q);
}

struct w4a8_answer model_run(const struct model *m, uint64_t seed, size_t layers)
{
    struct tensor *x = tensor_new(1, m->k, 4), *hidden = tensor_new(1, m->n, 4), *out = tensor_new(1, m->k, 4);
    w4a8_input(seed, x->f32, m->k);
    for (size_t i = 0; i < layers; i++) {
        linear_run(&m->layer[i].up, m->layer[i].norm, x->f32, hidden->f32);
        for (size_t n = 0; n < m->n; n++)
            hidden->f32[n] = hidden->f32[n] > 0 ? hidden->f32[n] : 0;
        linear_run(&m->layer[i].down, NULL, hidden->f32, out->f32);
        for (size_t k = 0; k < m->k; k++)
            x->f32[k] += out->f32[k];
    }
    struct w4a8_answer a = { .hash = w4a8_hash(x->f32, m->k), .token = -1 };
    if (layers == m->layers && m->vocabulary > 0) {
        struct tensor *logits = tensor_new(1, m->vocabulary, 4);
        linear_run(&m->head, m->norm, x->f32, logits->f32);
        a.hash = w4a8_hash(logits->f32, m->vocabulary);
        a.token = w4a8_largest(logits->f32, m->vocabulary);
        tensor_free(logits);
    }
    tensor_free(out);
    tensor_free(hidden);
    tensor_free(x);
    return a;
}
