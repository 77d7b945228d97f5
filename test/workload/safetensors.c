#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A cursor over the header. The first complaint is kept: what follows it is usually only its consequence. */
struct cursor {
    const char *text;
    size_t at, size;
    char *error;
};

static int complain(struct cursor *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int complain(struct cursor *c, const char *format, ...)
{
    if (c->error[0] == '\0') {
        int n = snprintf(c->error, SAFETENSORS_ERROR, "header byte %zu: ", c->at);
        va_list args;
        va_start(args, format);
        vsnprintf(c->error + n, SAFETENSORS_ERROR - (size_t)n, format, args);
        va_end(args);
    }
    return -1;
}

static void skip_space(struct cursor *c)
{
    while (c->at < c->size && strchr(" \t\r\n", c->text[c->at]) != NULL && c->text[c->at] != '\0')
        c->at++;
}

/* Takes `wanted` after white space; does not complain. */
static int take(struct cursor *c, char wanted)
{
    skip_space(c);
    if (c->at >= c->size || c->text[c->at] != wanted)
        return 0;
    c->at++;
    return 1;
}

static int expect(struct cursor *c, char wanted, const char *where)
{
    return take(c, wanted) ? 0 : complain(c, "expected '%c' %s", wanted, where);
}

/* A string into `out`. Tensor names are plain ASCII in practice: of the escapes only those of one letter are taken. */
static int parse_string(struct cursor *c, char *out, size_t size, const char *what)
{
    if (!take(c, '"'))
        return complain(c, "expected %s, a string", what);
    size_t n = 0;
    for (;;) {
        if (c->at >= c->size)
            return complain(c, "%s has no closing quote", what);
        char ch = c->text[c->at];
        if (ch == '"')
            break;
        if ((unsigned char)ch < 0x20)
            return complain(c, "%s has a control character", what);
        if (ch == '\\') {
            c->at++;
            ch = c->at < c->size ? c->text[c->at] : '\0';
            if (ch != '"' && ch != '\\' && ch != '/')
                return complain(c, "%s has an escape other than \\\", \\\\ and \\/", what);
        }
        if (n + 1 >= size)
            return complain(c, "%s is longer than %zu bytes", what, size - 1);
        out[n++] = ch;
        c->at++;
    }
    c->at++;
    out[n] = '\0';
    return 0;
}

static int parse_number(struct cursor *c, uint64_t *value, const char *what)
{
    skip_space(c);
    size_t start = c->at;
    uint64_t v = 0;
    while (c->at < c->size && c->text[c->at] >= '0' && c->text[c->at] <= '9') {
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(c->text[c->at] - '0'), &v))
            return complain(c, "a number %s does not fit 64 bits", what);
        c->at++;
    }
    if (c->at == start)
        return complain(c, "expected a number %s, whole and not negative", what);
    *value = v;
    return 0;
}

/* [n, n, ...] of at most `limit` numbers. */
static int parse_numbers(struct cursor *c, uint64_t *values, unsigned limit, unsigned *count, const char *what)
{
    *count = 0;
    if (expect(c, '[', what) != 0)
        return -1;
    if (take(c, ']'))
        return 0;
    do {
        if (*count == limit)
            return complain(c, "more than %u numbers %s", limit, what);
        if (parse_number(c, &values[(*count)++], what) != 0)
            return -1;
    } while (take(c, ','));
    return expect(c, ']', what);
}

static int parse_metadata(struct cursor *c)
{
    char text[4096];
    if (expect(c, '{', "after \"__metadata__\":") != 0)
        return -1;
    if (take(c, '}'))
        return 0;
    do {
        if (parse_string(c, text, sizeof text, "a key of __metadata__") != 0 ||
            expect(c, ':', "after a key of __metadata__") != 0 ||
            parse_string(c, text, sizeof text, "a value of __metadata__") != 0)
            return -1;
    } while (take(c, ','));
    return expect(c, '}', "at the end of __metadata__");
}

static unsigned dtype_size(const char *dtype)
{
    static const struct {
        const char *name;
        unsigned size;
    } known[] = { { "I8", 1 },  { "U8", 1 },  { "BOOL", 1 }, { "I16", 2 }, { "U16", 2 }, { "F16", 2 }, { "BF16", 2 },
                  { "I32", 4 }, { "U32", 4 }, { "F32", 4 },  { "I64", 8 }, { "U64", 8 }, { "F64", 8 } };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, dtype) == 0)
            return known[i].size;
    return 0;
}

static int entry_check(struct cursor *c, const struct safetensors_entry *e)
{
    uint64_t bytes = dtype_size(e->dtype);
    if (bytes == 0)
        return complain(c, "%s: dtype '%s' is none of the known ones", e->name, e->dtype);
    for (unsigned i = 0; i < e->rank; i++)
        if (__builtin_mul_overflow(bytes, e->shape[i], &bytes))
            return complain(c, "%s: its shape does not fit 64 bits", e->name);
    if (e->end < e->begin || e->end - e->begin != bytes)
        return complain(c, "%s: data_offsets [%" PRIu64 ", %" PRIu64 "], its dtype and shape need %" PRIu64 " bytes",
                        e->name, e->begin, e->end, bytes);
    return 0;
}

static int parse_entry(struct cursor *c, struct safetensors_entry *e)
{
    char key[32];
    int dtype = 0, shape = 0, offsets = 0;
    if (expect(c, '{', "after a tensor's name") != 0)
        return -1;
    do {
        if (parse_string(c, key, sizeof key, "a key of a tensor") != 0 || expect(c, ':', "after a key") != 0)
            return -1;
        int failed;
        if (strcmp(key, "dtype") == 0 && !dtype) {
            failed = parse_string(c, e->dtype, sizeof e->dtype, "dtype");
            dtype = 1;
        } else if (strcmp(key, "shape") == 0 && !shape) {
            failed = parse_numbers(c, e->shape, SAFETENSORS_RANK, &e->rank, "of shape");
            shape = 1;
        } else if (strcmp(key, "data_offsets") == 0 && !offsets) {
            uint64_t at[2];
            unsigned n = 0;
            failed = parse_numbers(c, at, 2, &n, "of data_offsets");
            if (!failed && n != 2)
                failed = complain(c, "%s: data_offsets has %u numbers, expected 2", e->name, n);
            if (!failed) {
                e->begin = at[0];
                e->end = at[1];
            }
            offsets = 1;
        } else {
            failed = complain(c, "%s: key '%s', expected dtype, shape and data_offsets, once each", e->name, key);
        }
        if (failed)
            return -1;
    } while (take(c, ','));
    if (expect(c, '}', "at the end of a tensor") != 0)
        return -1;
    if (!dtype || !shape || !offsets)
        return complain(c, "%s: needs dtype, shape and data_offsets", e->name);
    return entry_check(c, e);
}

static int parse_header(struct cursor *c, struct safetensors *st)
{
    size_t room = 0;
    if (expect(c, '{', "at the start") != 0)
        return -1;
    if (!take(c, '}')) {
        do {
            if (st->count == room) {
                room = room ? 2 * room : 256;
                struct safetensors_entry *more = realloc(st->entries, room * sizeof *more);
                if (more == NULL)
                    return complain(c, "no memory for %zu entries", room);
                st->entries = more;
            }
            struct safetensors_entry *e = &st->entries[st->count];
            memset(e, 0, sizeof *e);
            if (parse_string(c, e->name, sizeof e->name, "a tensor's name") != 0 ||
                expect(c, ':', "after a tensor's name") != 0)
                return -1;
            int meta = strcmp(e->name, "__metadata__") == 0;
            if ((meta ? parse_metadata(c) : parse_entry(c, e)) != 0)
                return -1;
            st->count += !meta;
        } while (take(c, ','));
        if (expect(c, '}', "at the end") != 0)
            return -1;
    }
    skip_space(c);
    return c->at == c->size ? 0 : complain(c, "text behind the closing '}'");
}

static int by_begin(const void *a, const void *b)
{
    const struct safetensors_entry *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : (x->end > y->end) - (x->end < y->end);
}

static int by_name(const void *a, const void *b)
{
    const struct safetensors_entry *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int names_check(const struct safetensors *st, char *error)
{
    const struct safetensors_entry **sorted = malloc((st->count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        snprintf(error, SAFETENSORS_ERROR, "no memory for %zu names", st->count);
        return -1;
    }
    for (size_t i = 0; i < st->count; i++)
        sorted[i] = &st->entries[i];
    qsort(sorted, st->count, sizeof *sorted, by_name);
    int failed = 0;
    for (size_t i = 1; i < st->count && !failed; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0) {
            snprintf(error, SAFETENSORS_ERROR, "header: %s stands there twice", sorted[i]->name);
            failed = -1;
        }
    free(sorted);
    return failed;
}

/* The tensors must cover the bytes behind the header, each once. */
static int layout_check(struct safetensors *st, char *error)
{
    qsort(st->entries, st->count, sizeof *st->entries, by_begin);
    uint64_t at = 0;
    for (size_t i = 0; i < st->count; i++) {
        const struct safetensors_entry *e = &st->entries[i];
        if (e->begin != at) {
            snprintf(error, SAFETENSORS_ERROR, "header: %s starts at %" PRIu64 ", expected %" PRIu64, e->name, e->begin, at);
            return -1;
        }
        at = e->end;
    }
    if (at != st->size - st->base) {
        snprintf(error, SAFETENSORS_ERROR, "the header describes %" PRIu64 " bytes of tensors, the file has %zu", at,
                 st->size - st->base);
        return -1;
    }
    return 0;
}

/* Maps the file; st->map stays NULL when it could not be. */
static int map_file(struct safetensors *st, const char *path, char *error)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0) {
        snprintf(error, SAFETENSORS_ERROR, "cannot be opened: %s", strerror(errno));
    } else if (!S_ISREG(s.st_mode) || s.st_size < 10) {
        snprintf(error, SAFETENSORS_ERROR, "not a safetensors file: expected a regular file of at least 10 bytes");
    } else {
        void *map = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            snprintf(error, SAFETENSORS_ERROR, "cannot be mapped: %s", strerror(errno));
        } else {
            st->map = map;
            st->size = (size_t)s.st_size;
        }
    }
    if (fd >= 0)
        close(fd);
    return st->map != NULL ? 0 : -1;
}

int safetensors_open(struct safetensors *st, const char *path, char error[SAFETENSORS_ERROR])
{
    memset(st, 0, sizeof *st);
    error[0] = '\0';
    if (map_file(st, path, error) != 0)
        return -1;
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | st->map[i];
    if (length > st->size - 8 || length > SAFETENSORS_HEADER_MAX) {
        snprintf(error, SAFETENSORS_ERROR, "header length %" PRIu64 ", expected at most %zu", length,
                 st->size - 8 < SAFETENSORS_HEADER_MAX ? st->size - 8 : (size_t)SAFETENSORS_HEADER_MAX);
        safetensors_close(st);
        return -1;
    }
    st->base = 8 + (size_t)length;
    struct cursor c = { .text = (const char *)st->map + 8, .size = (size_t)length, .error = error };
    if (parse_header(&c, st) != 0 || names_check(st, error) != 0 || layout_check(st, error) != 0) {
        safetensors_close(st);
        return -1;
    }
    return 0;
}

void safetensors_close(struct safetensors *st)
{
    if (st->map != NULL)
        munmap((void *)(uintptr_t)st->map, st->size);
    free(st->entries);
    memset(st, 0, sizeof *st);
}

const struct safetensors_entry *safetensors_find(const struct safetensors *st, const char *name)
{
    for (size_t i = 0; i < st->count; i++)
        if (strcmp(st->entries[i].name, name) == 0)
            return &st->entries[i];
    return NULL;
}

const void *safetensors_bytes(const struct safetensors *st, const struct safetensors_entry *entry)
{
    return st->map + st->base + entry->begin;
}

float safetensors_half(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
    if (exponent == 0) { /* zero and subnormal: mantissa * 2^-24 */
        float small = (float)mantissa * 0x1p-24f;
        return sign ? -small : small;
    }
    union {
        uint32_t u;
        float f;
    } v = { .u = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13 };
    return v.f;
}
