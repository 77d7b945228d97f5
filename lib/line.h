/* line: the lines in a stream of bytes that comes in pieces, as labels of events. Pure. */
#ifndef GIVEBACK_LINE_H
#define GIVEBACK_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"

/* The begin of a line whose end has not come; all zero at first. */
struct line {
    char text[EVENT_LABEL_MAX];
    size_t n;  /* bytes in it */
    bool more; /* there were more than fit */
};

/* How many lines end in this piece; `label` gets the text of the last of them, "" where that is empty or no printable text,
 * with "..." at its end where it is longer than a label. It is left alone when none ends. */
size_t line_feed(struct line *l, const char *bytes, size_t n, char label[EVENT_LABEL_MAX]);

#endif
