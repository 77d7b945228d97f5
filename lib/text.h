/* text: a bounded text builder over a buffer of the caller's.
 *
 * No malloc, no stdio, no locale, async-signal-safe, any thread (the builder itself belongs to one).
 * What does not fit is left out and `cut` is set; the buffer is always terminated. */
#ifndef GIVEBACK_TEXT_H
#define GIVEBACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *at;    /* the buffer, always NUL-terminated */
    size_t size; /* its size in bytes, at least 1 */
    size_t len;  /* bytes in it, without the NUL */
    bool cut;    /* something was left out */
};

void text_init(struct text *t, char *buffer, size_t size);
void text_mem(struct text *t, const char *bytes, size_t n);
void text_str(struct text *t, const char *s); /* NULL adds nothing */
void text_char(struct text *t, char c);
void text_u64(struct text *t, uint64_t n);
void text_i64(struct text *t, int64_t n);
/* n at least `width` digits wide, filled with zeros (dates, milliseconds). */
void text_pad(struct text *t, uint64_t n, unsigned width);
/* nanoseconds as seconds with six decimals: 0.412003 */
void text_seconds(struct text *t, int64_t ns);
/* bytes as whole MiB, rounded to nearest, sign kept: 3828 */
void text_mib(struct text *t, int64_t bytes);
/* bytes as a person reads them: "3828 MiB", under one MiB "12 KiB", so that little does not read as nothing */
void text_amount(struct text *t, int64_t bytes);
/* s as it is, for one line on a terminal: control characters (C0, DEL, C1) and bytes that are not UTF-8 become \xNN.
 * After `limit` bytes the rest becomes "..."; NULL adds nothing. */
void text_printable(struct text *t, const char *s, size_t limit);
/* "ITEM" at PLACE: expected WHAT, for the n bytes at `item`, a piece of `value`. */
void text_expected(struct text *t, const char *value, const char *item, size_t n, const char *what);
/* a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD, NULL becomes null. At most `limit` bytes with
 * the quotes, which is at least 2; what does not fit, there or in the buffer, is left out by whole characters, and the
 * string is still closed. */
void text_json(struct text *t, const char *s, size_t limit);
/* the length of the UTF-8 sequence at `bytes`, of which `left` can be read; 0: it is none. A NUL ends every sequence. */
size_t text_utf8(const char *bytes, size_t left);
/* s between the quotes of a label's value in OpenMetrics: \\ before a quote and a backslash, \n for a line end; control characters and bytes that
 * are not UTF-8 become U+FFFD. */
void text_escaped(struct text *t, const char *s);
/* the name of an error number (ENOENT), the number itself when it has none we know. */
void text_errno(struct text *t, int error);

#endif
