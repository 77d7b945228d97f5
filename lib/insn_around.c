#include "insn_around.h"

#include <stdbool.h>
#include <string.h>

#include "insn_x86_64.h"

enum {
    AROUND_NEAR = 2048, /* bytes before and behind that are searched for long branches; glibc's neighbours are within 200 */
    AROUND_SHORT = 130, /* and for short ones, which reach no further */
    AROUND_STARTS = 16, /* places from which the instructions before a short one are read, */
    AROUND_BEFORE = 64, /* which is as far before it as they agree after a few */
    AROUND_PARTS = 16,  /* of the function that lie elsewhere, */
    AROUND_STEPS = 512  /* and instructions of them, are looked at */
};

static const char around_why[] = "something else seems to branch into its first bytes";

struct around {
    const struct insn_text *text;
    uint64_t at, after;     /* the function */
    uint64_t patched, end;
    uint64_t part[AROUND_PARTS];
    size_t n_parts;
};

/* To begin at the first overwritten byte is to call it. */
static bool around_hits(const struct around *a, uint64_t target)
{
    return target > a->patched && target < a->end;
}

static bool around_is_function(const struct around *a, uint64_t address)
{
    return address >= a->at && address < a->after;
}

/* Is there an instruction at this offset, or do the bytes there belong to others? Whoever reads on from any place comes to
 * read the true ones soon: so it is one if of the places before it as many lead to it as past it. */
static bool around_is_instruction(const struct insn_text *t, size_t offset)
{
    size_t before = offset < AROUND_BEFORE + AROUND_STARTS ? offset : AROUND_BEFORE + AROUND_STARTS, to_it = 0, past = 0;

    if (before < AROUND_STARTS)
        return true;
    for (size_t start = offset - before; start < offset - before + AROUND_STARTS; start++) {
        size_t at = start;
        struct insn i;
        while (at < offset && !insn_read(&i, t->code + at, t->size - at))
            at += i.length;
        to_it += at == offset;
        past += at > offset;
    }
    return to_it >= past;
}

/* The offsets of the text that lie at most so many bytes from what is overwritten. */
static void around_window(const struct around *a, uint64_t bytes, size_t *from, size_t *to)
{
    uint64_t first = a->patched - a->text->at, last = a->end - a->text->at;

    *from = first < bytes ? 0 : (size_t)(first - bytes);
    *to = a->text->size - last < bytes ? a->text->size : (size_t)(last + bytes);
}

static bool around_short(const struct around *a)
{
    const unsigned char *code = a->text->code;
    size_t from, to;

    around_window(a, AROUND_SHORT, &from, &to);
    for (size_t i = from; i + 1 < to; i++) {
        bool branch = code[i] == 0xeb || (code[i] & 0xf0) == 0x70 || (code[i] & 0xfc) == 0xe0;
        if (branch && !around_is_function(a, a->text->at + i) && around_hits(a, a->text->at + i + 2 + (uint64_t)(int64_t)(int8_t)code[i + 1]) &&
            around_is_instruction(a->text, i))
            return true;
    }
    return false;
}

static bool around_long(const struct around *a)
{
    const unsigned char *code = a->text->code;
    size_t from, to;

    around_window(a, AROUND_NEAR, &from, &to);
    for (size_t i = from + 2; i + 4 <= to; i++) {
        bool plain = code[i - 1] == 0xe9 || code[i - 1] == 0xe8;
        int32_t distance;
        memcpy(&distance, code + i, sizeof distance);
        if (around_hits(a, a->text->at + i + 4 + (uint64_t)(int64_t)distance) && !around_is_function(a, a->text->at + i) &&
            (plain || (code[i - 2] == 0x0f && (code[i - 1] & 0xf0) == 0x80)) && around_is_instruction(a->text, plain ? i - 1 : i - 2))
            return true;
    }
    return false;
}

static void around_add_part(struct around *a, uint64_t address)
{
    if (around_is_function(a, address) || address - a->text->at >= a->text->size)
        return;
    for (size_t i = 0; i < a->n_parts; i++)
        if (a->part[i] == address)
            return;
    if (a->n_parts < AROUND_PARTS)
        a->part[a->n_parts++] = address;
}

/* From an address on to where it ends or goes elsewhere, but not beyond `after`. true: it branches into the overwritten bytes. */
static bool around_read(struct around *a, uint64_t address, uint64_t after, unsigned *steps)
{
    struct insn i;

    for (; address < after && *steps; address += i.length, --*steps) {
        const unsigned char *code = a->text->code + (address - a->text->at);
        if (insn_read(&i, code, (size_t)(after - address)))
            return false;
        if (i.target_at && i.kind != INSN_CALLS) {
            uint64_t target = insn_target(&i, code, address);
            if (around_hits(a, target) && !around_is_function(a, address))
                return true;
            around_add_part(a, target);
        }
        if ((i.kind == INSN_GOES || i.kind == INSN_ENDS) && !around_is_function(a, address))
            return false;
    }
    return false;
}

static bool around_parts(struct around *a)
{
    unsigned all = UINT32_MAX, steps = AROUND_STEPS;

    (void)around_read(a, a->at, a->after, &all); /* branches of its own are insn_check_body's business */
    for (size_t i = 0; i < a->n_parts; i++)
        if (around_read(a, a->part[i], a->text->at + a->text->size, &steps))
            return true;
    return false;
}

const char *insn_check_around(const struct insn_text *text, uint64_t at, size_t size, uint64_t patched, uint64_t end)
{
    struct around a = {.text = text, .at = at, .after = at + size, .patched = patched, .end = end};

    if (at < text->at || at - text->at > text->size || size > text->size - (at - text->at) || end > a.after)
        return "it does not lie in its object's code";
    return around_short(&a) || around_long(&a) || around_parts(&a) ? around_why : NULL;
}
