#include "ehframe.h"

#include <stdbool.h>
#include <string.h>

/* Encodings of addresses (DW_EH_PE_...): 4 bytes with a sign, that count from the header, or from where they stand. */
enum { FROM_HEADER = 0x3b, FROM_HERE = 0x1b, COUNT_4 = 0x03 };

static bool ehframe_read(const struct ehframe *e, uint64_t at, void *to, size_t n)
{
    uint64_t from = at - e->at;

    if (from > e->size || n > e->size - from)
        return false;
    memcpy(to, e->memory + from, n);
    return true;
}

static bool ehframe_read_distance(const struct ehframe *e, uint64_t at, uint64_t base, uint64_t *value)
{
    int32_t distance;

    if (!ehframe_read(e, at, &distance, sizeof distance))
        return false;
    *value = base + (uint64_t)(int64_t)distance;
    return true;
}

/* A number of variable length that nobody needs. */
static bool ehframe_skip_number(const struct ehframe *e, uint64_t *at)
{
    unsigned char byte;

    do {
        if (!ehframe_read(e, (*at)++, &byte, 1))
            return false;
    } while (byte & 0x80);
    return true;
}

/* Does the common entry (CIE) there say that its functions' addresses are FROM_HERE? */
static bool ehframe_is_from_here(const struct ehframe *e, uint64_t at)
{
    char augmentation[8] = "";
    unsigned char version, encoding;
    uint64_t rest = at + 9;

    if (!ehframe_read(e, at + 8, &version, 1) || version != 1)
        return false;
    for (size_t i = 0; ; i++) {
        if (i == sizeof augmentation || !ehframe_read(e, rest++, &augmentation[i], 1))
            return false;
        if (!augmentation[i])
            break;
    }
    /* alignments of code and data, the register of the return address, the length of what follows */
    for (unsigned i = 0; i < 4; i++)
        if (!ehframe_skip_number(e, &rest))
            return false;
    for (const char *a = augmentation + 1; augmentation[0] == 'z' && *a; a++) {
        if (!ehframe_read(e, rest++, &encoding, 1))
            return false;
        if (*a == 'R')
            return encoding == FROM_HERE;
        if (*a == 'P') {
            if (encoding != 0x9b && encoding != FROM_HERE) /* 4 bytes, perhaps of a pointer to it */
                return false;
            rest += 4;
        } else if (*a == 'S') {
            rest--;
        } else if (*a != 'L') {
            return false;
        }
    }
    return false;
}

static uint64_t ehframe_entry_size(const struct ehframe *e, uint64_t entry, uint64_t function)
{
    uint32_t length, back, size;
    uint64_t begins;

    if (!ehframe_read(e, entry, &length, sizeof length) || length < 16 || length >= 0xfffffff0 ||
        !ehframe_read(e, entry + 4, &back, sizeof back) || !back || !ehframe_is_from_here(e, entry + 4 - back) ||
        !ehframe_read_distance(e, entry + 8, entry + 8, &begins) || begins != function || !ehframe_read(e, entry + 12, &size, sizeof size))
        return 0;
    return size;
}

uint64_t ehframe_size(const struct ehframe *e, uint64_t function)
{
    unsigned char header[4]; /* version, encodings of: where .eh_frame is, the count, the table */
    uint64_t table = e->header + 12, begins, entry;
    uint32_t low = 0, high;

    if (!ehframe_read(e, e->header, header, sizeof header) || header[0] != 1 || header[1] != FROM_HERE || header[2] != COUNT_4 ||
        header[3] != FROM_HEADER || !ehframe_read(e, e->header + 8, &high, sizeof high))
        return 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!ehframe_read_distance(e, table + (uint64_t)middle * 8, e->header, &begins))
            return 0;
        if (begins == function)
            return ehframe_read_distance(e, table + (uint64_t)middle * 8 + 4, e->header, &entry) ? ehframe_entry_size(e, entry, function) : 0;
        if (begins < function)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}
