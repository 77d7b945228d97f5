#include "match.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

_Static_assert(MATCH_TEXTS * MATCH_BLOCK <= 64, "a bit each");

static int match_least(int a, int b)
{
    return a < b ? a : b;
}

/* A block begins `residue` bytes behind the text's begin, or, where that holds more of it, so many before it that the next one
 * would. */
static void match_add_residue(struct match *m, struct match_text *t, int residue)
{
    int length = (int)t->length, inside = match_least(MATCH_BLOCK, length - residue), before = match_least(length, residue);
    uint64_t bit = UINT64_C(1) << (m->n_texts * MATCH_BLOCK + (unsigned)residue);

    t->from[residue] = (int8_t)(inside >= before ? -residue : MATCH_BLOCK - residue);
    for (int place = 0; place < MATCH_BLOCK; place++) {
        int at = place - t->from[residue];
        for (int c = 0; c < 256; c++)
            if (at < 0 || at >= length || t->bytes[at] == c)
                m->may[place][c] |= bit;
    }
}

int match_add(struct match *m, const char *text)
{
    size_t length = strlen(text);
    struct match_text *t = &m->text[m->n_texts];

    if (m->n_texts == MATCH_TEXTS || !length || length > MATCH_TEXT_MAX || strchr(text, '\n'))
        return -EINVAL;
    t->bytes = (const unsigned char *)text;
    t->length = (unsigned)length;
    t->border[0] = 0;
    for (unsigned i = 1, k = 0; i < length; i++) {
        while (k && t->bytes[i] != t->bytes[k])
            k = t->border[k - 1];
        k += t->bytes[i] == t->bytes[k];
        t->border[i] = (uint8_t)k;
    }
    for (int residue = 0; residue < MATCH_BLOCK; residue++)
        match_add_residue(m, t, residue);
    m->n_texts++;
    return 0;
}

/* How much of the text's begin stands at the end once c has come behind `begun` bytes of it. */
static inline unsigned match_step(const struct match_text *t, unsigned begun, unsigned char c)
{
    while (begun && (begun == t->length || t->bytes[begun] != c))
        begun = t->border[begun - 1];
    return begun + (t->bytes[begun] == c);
}

/* Does a text that was begun before end in this piece? Once the begin lies in the piece, match_inside sees to it. */
static bool match_across(const struct match_text *t, unsigned begun, const unsigned char *data, size_t n)
{
    for (size_t i = 0; i < n && begun > i; i++) {
        begun = match_step(t, begun, data[i]);
        if (begun == t->length)
            return true;
    }
    return false;
}

/* Which of the texts that the block at `at` may be of do stand there? */
static uint32_t match_at(const struct match *m, uint64_t may, const unsigned char *data, size_t n, size_t at)
{
    uint32_t found = 0;

    for (; may; may &= may - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(may), i = bit / MATCH_BLOCK;
        const struct match_text *t = &m->text[i];
        size_t begin = at + (size_t)(ptrdiff_t)t->from[bit % MATCH_BLOCK]; /* before the piece: more than n */
        if (begin < n && t->length <= n - begin && memcmp(t->bytes, data + begin, t->length) == 0)
            found |= 1U << i;
    }
    return found;
}

/* The texts that stand wholly in the piece. No block waits for what another says. */
static uint32_t match_inside(const struct match *m, const unsigned char *data, size_t n)
{
    uint32_t found = 0;
    uint64_t may;
    size_t i = 0;

    for (; i + MATCH_BLOCK <= n; i += MATCH_BLOCK) {
        may = m->may[0][data[i]] & m->may[1][data[i + 1]] & m->may[2][data[i + 2]] & m->may[3][data[i + 3]];
        if (__builtin_expect(may != 0, 0))
            found |= match_at(m, may, data, n, i);
    }
    may = ~UINT64_C(0);
    for (size_t place = 0; i + place < n; place++)
        may &= m->may[place][data[i + place]];
    return i < n ? found | match_at(m, may, data, n, i) : found;
}

/* How much of the text's begin stands at the end of the piece. */
static unsigned match_end(const struct match_text *t, unsigned begun, const unsigned char *data, size_t n)
{
    size_t i = 0;

    if (n >= t->length) { /* what came before cannot matter any more */
        i = n - t->length + 1;
        begun = 0;
    }
    for (; i < n; i++)
        begun = match_step(t, begun, data[i]);
    return begun == t->length ? t->border[begun - 1] : begun;
}

uint32_t match_feed(const struct match *m, struct match_stream *s, const char *data, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)data;
    uint32_t found = 0, open, before = __atomic_load_n(&s->open, __ATOMIC_RELAXED);

    for (uint32_t left = before; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        if (match_across(&m->text[i], __atomic_load_n(&s->begun[i], __ATOMIC_RELAXED), bytes, n))
            found |= 1U << i;
    }
    found |= match_inside(m, bytes, n);
    if (!n || (!before && data[n - 1] == '\n'))
        return found; /* nothing was begun, and nothing is: the usual line */
    open = 0;
    for (unsigned i = 0; i < m->n_texts; i++) {
        unsigned was = before >> i & 1 ? __atomic_load_n(&s->begun[i], __ATOMIC_RELAXED) : 0;
        unsigned begun = data[n - 1] == '\n' ? 0 : match_end(&m->text[i], was, bytes, n);
        __atomic_store_n(&s->begun[i], (uint8_t)begun, __ATOMIC_RELAXED);
        open |= begun ? 1U << i : 0;
    }
    __atomic_store_n(&s->open, open, __ATOMIC_RELAXED);
    return found;
}
