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

struct match {
    struct match_text {
        const unsigned char *bytes; /* kept by the caller */
        unsigned length;
        uint8_t border[MATCH_TEXT_MAX]; /* of each begin of it: how long a shorter begin is that it ends in */
    } text[MATCH_TEXTS];
    unsigned n_texts;
    /* By byte, a bit for each text and each of its first four places where the byte may stand. A text that has no such place
     * has the bit for every byte. */
    uint64_t may[256];
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
