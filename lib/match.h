/* match: which of several texts stand in a stream of bytes that comes in pieces.
 *
 * Pure: no malloc, no lock. What is kept of a stream between two pieces is, for each text, how much of its begin stood at the
 * end: bytes that are read and written atomically, so that threads, and handlers that interrupt one, may feed one stream at a
 * time. Pieces that come at the same moment count as having come in some order. */
#ifndef GIVEBACK_MATCH_H
#define GIVEBACK_MATCH_H

#include <stddef.h>
#include <stdint.h>

#define MATCH_TEXTS 16
#define MATCH_TEXT_MAX 255 /* bytes */
#define MATCH_BLOCK 4

struct match {
    struct match_text {
        const unsigned char *bytes; /* kept by the caller */
        unsigned length;
        uint8_t border[MATCH_TEXT_MAX]; /* of each begin of it: how long a shorter begin is that it ends in */
        int8_t from[MATCH_BLOCK];       /* by residue: how far its begin stands behind that of the block that is looked at */
    } text[MATCH_TEXTS];
    unsigned n_texts;
    /* A piece is looked at in blocks of four bytes. A text may begin at each of four residues; by which block it is looked for
     * then is fixed, the one that holds most of its bytes. By place in the block and byte: bits of texts and residues, of which
     * the byte may be there. */
    uint64_t may[MATCH_BLOCK][256];
};

struct match_stream {
    uint32_t open; /* bits: texts whose begin stood at the end */
    uint8_t begun[MATCH_TEXTS];
};

/* One more text, of 1 to MATCH_TEXT_MAX bytes, no '\n' among them. Its bit is 1 << (n_texts before). 0 or -EINVAL. */
int match_add(struct match *m, const char *text);
/* The next piece: bits of the texts that it completes, each once. A text whose begin ended the piece before is found too. */
uint32_t match_feed(const struct match *m, struct match_stream *s, const char *data, size_t n);

#endif
