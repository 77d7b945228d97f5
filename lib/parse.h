/* parse: the small grammars that values of options are made of. Pure, no locale, any thread.
 *
 * Values come as a pointer and a length, since they are pieces of longer ones. ASCII letters count as equal in both
 * cases. */
#ifndef GIVEBACK_PARSE_H
#define GIVEBACK_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool parse_is(const char *s, size_t n, const char *word);
/* 1 for on, yes, true, 1; 0 for off, no, false, 0; else -EINVAL. */
int parse_switch(const char *s, size_t n);
/* The number of a signal that a handler of ours may take: a name with or without SIG, RTMIN+n, RTMAX-n, or a number; 0
 * for none. Else -EINVAL, and *expected says what would have been right, or why that signal is refused. */
int parse_signal(const char *s, size_t n, const char **expected);
/* The first name of a signal below the real-time ones, without SIG; NULL: it has none. */
const char *parse_signal_name(int number);
/* A size: digits and perhaps K, M, G or T (1024), which B or iB may follow: bytes. A time: digits and ms, s, m or h (none:
 * seconds): nanoseconds. Neither takes 0, a sign, a fraction, or more than 2^62. Else -EINVAL. */
int64_t parse_size(const char *s, size_t n);
int64_t parse_time(const char *s, size_t n);
/* The next item of a list separated by ',', ';' or blanks: *list moves behind it. false: no further one. */
bool parse_item(const char **list, const char **item, size_t *n);
/* How many letters have to be changed, added or taken away to make one word of the other; at most PARSE_FAR, which
 * words longer than that are from everything. */
#define PARSE_FAR 24
unsigned parse_distance(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
