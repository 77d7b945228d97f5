/* ehframe: how long a function is, by its unwind table (.eh_frame, by way of .eh_frame_hdr), which no stripping takes away.
 *
 * Pure. Only what linkers write: a sorted table with entries of 4 bytes that count from the header. Anything else, or what does
 * not lie in the given memory, is "not known". */
#ifndef GIVEBACK_EHFRAME_H
#define GIVEBACK_EHFRAME_H

#include <stddef.h>
#include <stdint.h>

struct ehframe {
    const unsigned char *memory; /* the segment in which both lie, */
    size_t size;
    uint64_t at;     /* where memory[0] is, for whoever runs there */
    uint64_t header; /* where .eh_frame_hdr is */
};

/* Bytes of the function that begins at exactly that address; 0: not known. */
uint64_t ehframe_size(const struct ehframe *e, uint64_t function);

#endif
