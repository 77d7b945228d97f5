#include "match.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MATCH_PLACES 4
#define MATCH_LANE 16 /* bits: one a text */
/* In its lowest lane the texts that may stand where these four bytes do. */
#define MATCH_MAY(a, b, c, d) ((a) & (b) >> MATCH_LANE & (c) >> 2 * MATCH_LANE & (d) >> 3 * MATCH_LANE)
_Static_assert(MATCH_PLACES * MATCH_LANE == 64 && MATCH_TEXTS <= MATCH_LANE, "");

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
    for (unsigned place = 0; place < MATCH_PLACES; place++)
        for (unsigned c = 0; c < 256; c++)
            if (place >= length || t->bytes[place] == c)
                m->may[c] |= UINT64_C(1) << (place * MATCH_LANE + m->n_texts);
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

/* Which of the texts in `bits` stand at data, of which n bytes are left? */
static uint32_t match_at(const struct match *m, uint32_t bits, const unsigned char *data, size_t n)
{
    uint32_t found = 0;

    for (; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctz(bits);
        const struct match_text *t = &m->text[i];
        if (t->length <= n && memcmp(t->bytes, data, t->length) == 0)
            found |= 1U << i;
    }
    return found;
}

/* The texts in `wanted` that stand wholly in the piece. Each place is looked at by itself, so that none waits for what another
 * says, and four at a time, which one branch passes over. */
static uint32_t match_inside(const struct match *m, uint32_t wanted, const unsigned char *data, size_t n)
{
    uint32_t found = 0;
    size_t i = 0;

    for (; i + 2 * MATCH_PLACES - 1 <= n && wanted; i += MATCH_PLACES) {
        uint64_t a = m->may[data[i]], b = m->may[data[i + 1]], c = m->may[data[i + 2]], d = m->may[data[i + 3]],
                 e = m->may[data[i + 4]], f = m->may[data[i + 5]], g = m->may[data[i + 6]];
        uint64_t may[MATCH_PLACES] = {MATCH_MAY(a, b, c, d), MATCH_MAY(b, c, d, e), MATCH_MAY(c, d, e, f), MATCH_MAY(d, e, f, g)};

        if (__builtin_expect(((may[0] | may[1] | may[2] | may[3]) & wanted) == 0, 1))
            continue;
        for (size_t k = 0; k < MATCH_PLACES; k++)
            found |= match_at(m, (uint32_t)may[k] & wanted, data + i + k, n - i - k);
        wanted &= ~found;
    }
    for (; i < n && wanted; i++) {
        uint64_t may = m->may[data[i]];
        if (i + MATCH_PLACES <= n)
            may = MATCH_MAY(may, m->may[data[i + 1]], m->may[data[i + 2]], m->may[data[i + 3]]);
        if (may & wanted)
            found |= match_at(m, (uint32_t)may & wanted, data + i, n - i);
    }
    return found;
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
    found |= match_inside(m, ((1U << m->n_texts) - 1) & ~found, bytes, n);
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
