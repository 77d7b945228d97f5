#include "insn_around.h"

#include <stdbool.h>
#include <string.h>

#include "insn_aarch64.h"

enum {
    AROUND_NEAR = 2048, /* bytes before and behind that are searched, as on x86-64 */
    AROUND_PARTS = 16,  /* of the function that lie elsewhere, */
    AROUND_STEPS = 512  /* and instructions of them, are looked at */
};

struct around {
    const struct insn_text *text;
    uint64_t at, after;     /* the function */
    uint64_t patched, end;
    uint64_t part[AROUND_PARTS];
    size_t n_parts;
};

static const unsigned char *around_code(const struct around *a, uint64_t address)
{
    return a->text->code + (address - a->text->at);
}

static bool around_is_function(const struct around *a, uint64_t address)
{
    return address >= a->at && address < a->after;
}

/* Does this instruction go into the overwritten ones? To begin at the first of them is to call the function. */
static bool around_hits(const struct around *a, uint64_t address)
{
    uint64_t target;

    return a64_goes(around_code(a, address), address, &target) && target > a->patched && target < a->end;
}

/* Every four bytes are an instruction here, or data that looks like one. */
static bool around_near(const struct around *a)
{
    uint64_t before = a->at - a->text->at, behind = a->text->at + a->text->size - a->end;
    uint64_t from = a->at - (before < AROUND_NEAR ? before & ~UINT64_C(3) : AROUND_NEAR);
    uint64_t to = a->end + (behind < AROUND_NEAR ? behind & ~UINT64_C(3) : AROUND_NEAR);

    for (uint64_t address = from; address + A64_INSN <= to; address += A64_INSN)
        if (!around_is_function(a, address) && around_hits(a, address))
            return true;
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

/* Where an instruction may go on, but for the next one. Calls come back. */
static enum a64_kind around_follow(struct around *a, uint64_t address)
{
    uint32_t word;
    uint64_t target;
    struct a64 i;

    memcpy(&word, around_code(a, address), sizeof word);
    i = a64_read(word);
    if (i.kind != A64_CALLS && a64_goes(around_code(a, address), address, &target))
        around_add_part(a, target);
    return i.kind;
}

static bool around_parts(struct around *a)
{
    uint64_t after = a->text->at + (a->text->size & ~UINT64_C(3));
    unsigned steps = AROUND_STEPS;

    for (uint64_t address = a->at; address + A64_INSN <= a->after; address += A64_INSN)
        (void)around_follow(a, address); /* what goes back into it is a64_check_body's business */
    for (size_t i = 0; i < a->n_parts; i++)
        for (uint64_t address = a->part[i]; address + A64_INSN <= after && !around_is_function(a, address) && steps; address += A64_INSN, steps--) {
            enum a64_kind kind;
            if (around_hits(a, address))
                return true;
            kind = around_follow(a, address);
            if (kind == A64_GOES || kind == A64_ENDS)
                break;
        }
    return false;
}

const char *insn_check_around_aarch64(const struct insn_text *text, uint64_t at, size_t size, uint64_t patched, uint64_t end)
{
    struct around a = {.text = text, .at = at, .after = at + size, .patched = patched, .end = end};

    if (at < text->at || at - text->at > text->size || size > text->size - (at - text->at) || end > a.after)
        return "it does not lie in its object's code";
    return around_near(&a) || around_parts(&a) ? "something else seems to branch into its first bytes" : NULL;
}
