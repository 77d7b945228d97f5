/* mkcheckpoint: writes a GPTQ int4 checkpoint with random weights, as one safetensors file of any size.
 *
 * The same options give the same bytes. It is written a MiB at a time, so the writer stays small whatever the model. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "w4a8.h"

#define CHUNK (1u << 20)

struct shape {
    size_t layers, k, n, group, vocabulary;
    uint64_t seed;
};

enum content { CODES, ZEROS, SCALES, GROUPS, BIAS, NORM };

/* One tensor of the file: rows x cols (cols 0: a vector) elements. */
struct plan {
    char name[80];
    enum content content;
    size_t rows, cols, inputs;
};

static const struct {
    const char *dtype;
    size_t item;
} kinds[] = { [CODES] = { "I32", 4 }, [ZEROS] = { "I32", 4 }, [SCALES] = { "F16", 2 }, [GROUPS] = { "I32", 4 },
              [BIAS] = { "F16", 2 },  [NORM] = { "F16", 2 } };

static size_t plan_bytes(const struct plan *p)
{
    return p->rows * (p->cols ? p->cols : 1) * kinds[p->content].item;
}

/* Calls `each` for every tensor, in the order of the file. */
static void plan_linear(const char *name, size_t k, size_t n, size_t group, void (*each)(const struct plan *, void *), void *to)
{
    struct plan parts[] = { { "qweight", CODES, k / 8, n, k },
                            { "qzeros", ZEROS, k / group, n / 8, k },
                            { "scales", SCALES, k / group, n, k },
                            { "g_idx", GROUPS, k, 0, k },
                            { "bias", BIAS, n, 0, k } };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char part[16];
        memcpy(part, parts[i].name, sizeof part);
        snprintf(parts[i].name, sizeof parts[i].name, "%s.%s", name, part);
        each(&parts[i], to);
    }
}

static void plan_model(const struct shape *s, void (*each)(const struct plan *, void *), void *to)
{
    struct plan norm = { .content = NORM, .rows = s->k };
    char name[64];
    for (size_t i = 0; i < s->layers; i++) {
        snprintf(norm.name, sizeof norm.name, "model.layers.%zu.norm.weight", i);
        each(&norm, to);
        snprintf(name, sizeof name, "model.layers.%zu.mlp.up_proj", i);
        plan_linear(name, s->k, s->n, s->group, each, to);
        snprintf(name, sizeof name, "model.layers.%zu.mlp.down_proj", i);
        plan_linear(name, s->n, s->k, s->group, each, to);
    }
    if (s->vocabulary > 0) {
        snprintf(norm.name, sizeof norm.name, "model.norm.weight");
        each(&norm, to);
        plan_linear("lm_head", s->k, s->vocabulary, s->group, each, to);
    }
}

struct writer {
    FILE *file;
    const char *path;
    uint64_t at;    /* header: bytes of tensors so far */
    uint64_t state; /* of the random numbers */
    size_t group, tensors;
};

static void write_all(struct writer *w, const void *data, size_t size)
{
    if (fwrite(data, 1, size, w->file) != size) {
        fprintf(stderr, "mkcheckpoint: %s: cannot be written: %s\n", w->path, strerror(errno));
        exit(1);
    }
}

static void write_entry(const struct plan *p, void *to)
{
    struct writer *w = to;
    uint64_t end = w->at + plan_bytes(p);
    char cols[32] = "", text[256];
    if (p->cols)
        snprintf(cols, sizeof cols, ",%zu", p->cols);
    int n = snprintf(text, sizeof text, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%zu%s],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                     w->tensors++ ? "," : "", p->name, kinds[p->content].dtype, p->rows, cols, w->at, end);
    write_all(w, text, (size_t)n);
    w->at = end;
}

/* A power of two such that weights of uniform codes (deviation 4.61) and mantissas 1..2 keep the size of what goes
 * through a linear of K inputs: 0.8 / sqrt(K), as trained ones have. */
static uint16_t scale_exponent(size_t inputs)
{
    int e;
    frexp(0.8 / sqrt((double)inputs) / 4.61 / 1.5, &e);
    return (uint16_t)((e - 1 + 15 < 1 ? 1 : e - 1 + 15) << 10);
}

static void write_tensor(const struct plan *p, void *to)
{
    static union {
        uint64_t u64[CHUNK / 8];
        uint32_t u32[CHUNK / 4];
        uint16_t u16[CHUNK / 2];
    } chunk;
    struct writer *w = to;
    size_t left = plan_bytes(p), first = 0; /* first: element that the chunk starts with */
    while (left > 0) {
        size_t size = left < CHUNK ? left : CHUNK, count = size / kinds[p->content].item;
        for (size_t i = 0; i < (size + 7) / 8 && (p->content == CODES || p->content == SCALES || p->content == BIAS); i++)
            chunk.u64[i] = w4a8_random(&w->state);
        for (size_t i = 0; i < count; i++) {
            if (p->content == ZEROS)
                chunk.u32[i] = 0x77777777; /* eight zeros of 8, each stored less one */
            else if (p->content == GROUPS)
                chunk.u32[i] = (uint32_t)((first + i) / w->group);
            else if (p->content == SCALES)
                chunk.u16[i] = (uint16_t)(scale_exponent(p->inputs) | (chunk.u16[i] & 1023));
            else if (p->content == BIAS)
                chunk.u16[i] = (uint16_t)(0x2400 | (chunk.u16[i] & 0x83ff)); /* 1/64 to 1/32, either sign */
            else if (p->content == NORM)
                chunk.u16[i] = 0x3c00; /* 1 */
        }
        write_all(w, &chunk, size);
        first += count;
        left -= size;
    }
}

static void write_checkpoint(const struct shape *s, const char *path)
{
    struct writer w = { .path = path, .state = s->seed, .group = s->group };
    w.file = fopen(path, "wbe");
    if (w.file == NULL) {
        fprintf(stderr, "mkcheckpoint: %s: cannot be made: %s\n", path, strerror(errno));
        exit(1);
    }
    unsigned char length[8] = { 0 };
    write_all(&w, length, 8); /* filled in below */
    write_all(&w, "{", 1);
    plan_model(s, write_entry, &w);
    write_all(&w, "}", 1);
    while (ftell(w.file) % 8 != 0)
        write_all(&w, " ", 1);
    uint64_t size = (uint64_t)ftell(w.file) - 8, total = w.at + size + 8;
    plan_model(s, write_tensor, &w);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(size >> 8 * i);
    rewind(w.file);
    write_all(&w, length, 8);
    if (fclose(w.file) != 0) {
        fprintf(stderr, "mkcheckpoint: %s: cannot be written: %s\n", path, strerror(errno));
        exit(1);
    }
    double repacked = (2.0 * (double)s->layers * (double)s->n + (double)s->vocabulary) * (double)s->k;
    printf("%s: %zu tensors, %.1f MB; %.1f MB of weights once repacked\n", path, w.tensors, (double)total / 1e6, repacked / 1e6);
}

static void check_shape(const struct shape *s)
{
    const struct {
        const char *name;
        size_t value;
    } dims[] = { { "--k", s->k }, { "--n", s->n }, { "--vocab", s->vocabulary } };
    if (s->group % 8 != 0) {
        fprintf(stderr, "mkcheckpoint: --group: %zu, expected a multiple of 8\n", s->group);
        exit(2);
    }
    for (size_t i = 0; i < 3; i++)
        if (dims[i].value % (i < 2 ? s->group : 8) != 0) {
            fprintf(stderr, "mkcheckpoint: %s: %zu, expected a multiple of %zu\n", dims[i].name, dims[i].value, i < 2 ? s->group : 8);
            exit(2);
        }
}

static void usage(FILE *to)
{
    fputs("usage: mkcheckpoint --out FILE [--layers 28] [--k 2048] [--n 6144] [--group 128] [--vocab 131072] [--seed 1]\n"
          "Writes a GPTQ int4 checkpoint with random weights; --vocab 0: without a head.\n",
          to);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "out", 1, NULL, 'o' },   { "layers", 1, NULL, 'l' }, { "k", 1, NULL, 'k' },
                                             { "n", 1, NULL, 'n' },     { "group", 1, NULL, 'g' },  { "vocab", 1, NULL, 'v' },
                                             { "seed", 1, NULL, 's' },  { "help", 0, NULL, 'h' },   { NULL, 0, NULL, 0 } };
    struct shape s = { .layers = 28, .k = 2048, .n = 6144, .group = 128, .vocabulary = 131072, .seed = 1 };
    const char *out = NULL;
    int c;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'o': out = optarg; break;
        case 'l': s.layers = options_number("mkcheckpoint: --layers", optarg, 1, W4A8_LAYERS_MAX); break;
        case 'k': s.k = options_number("mkcheckpoint: --k", optarg, 8, W4A8_INPUTS_MAX); break;
        case 'n': s.n = options_number("mkcheckpoint: --n", optarg, 8, W4A8_INPUTS_MAX); break;
        case 'g': s.group = options_number("mkcheckpoint: --group", optarg, 8, W4A8_INPUTS_MAX); break;
        case 'v': s.vocabulary = options_number("mkcheckpoint: --vocab", optarg, 0, W4A8_OUTPUTS_MAX); break;
        case 's': s.seed = options_number("mkcheckpoint: --seed", optarg, 0, UINT64_MAX); break;
        case 'h': usage(stdout); return 0;
        default: usage(stderr); return 2;
        }
    }
    if (out == NULL || optind != argc) {
        usage(stderr);
        return 2;
    }
    check_shape(&s);
    write_checkpoint(&s, out);
    return 0;
}
