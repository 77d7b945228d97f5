#include "glob.h"

#include <stddef.h>
#include <string.h>

#include "parse.h"

/* Both ends are known, so that an item of a list is matched where it stands. */
struct glob_pattern {
    const char *at, *end;
};

/* The set behind '[' (p->at stands on it). 1 or 0: c is in it or not, and p moves behind the ']'. -1: there is no ']',
 * so that the '[' means itself. A ']' that comes first is a member, as in the shell. */
static int glob_set(struct glob_pattern *p, unsigned char c)
{
    const char *s = p->at + 1;
    bool negative = s < p->end && (*s == '!' || *s == '^'), in = false;

    s += negative;
    for (bool first = true; s < p->end && (first || *s != ']'); first = false) {
        unsigned char low = (unsigned char)*s++, high = low;
        if (p->end - s >= 2 && s[0] == '-' && s[1] != ']') {
            high = (unsigned char)s[1];
            s += 2;
        }
        in |= low <= c && c <= high;
    }
    if (s >= p->end)
        return -1;
    p->at = s + 1;
    return in != negative;
}

/* Does the pattern's next part, which is no '*', match c? Then p moves behind it. */
static bool glob_one(struct glob_pattern *p, char c)
{
    int in = *p->at == '[' ? glob_set(p, (unsigned char)c) : -1;

    if (in >= 0)
        return in;
    if (*p->at == '?') {
        p->at++;
        return true;
    }
    if (*p->at == '\\' && p->end - p->at > 1)
        p->at++;
    return *p->at++ == c;
}

/* Only the last '*' is ever gone back to: whatever an earlier one could take in addition, the last one can take as
 * well. So the time is at most the product of both lengths, where recursion would take exponential time. */
static bool glob_span(struct glob_pattern p, const char *name)
{
    struct glob_pattern star = {NULL, NULL}; /* what follows the last '*' */
    const char *taken = NULL;                /* where its match ends for now */

    while (*name) {
        struct glob_pattern rest = p;
        if (p.at < p.end && *p.at == '*') {
            p.at++;
            star = p;
            taken = name;
        } else if (p.at < p.end && glob_one(&rest, *name)) {
            p = rest;
            name++;
        } else if (star.end) {
            p = star;
            name = ++taken;
        } else {
            return false;
        }
    }
    while (p.at < p.end && *p.at == '*')
        p.at++;
    return p.at == p.end;
}

bool glob_match(const char *pattern, const char *name)
{
    return glob_span((struct glob_pattern){pattern, pattern + strlen(pattern)}, name);
}

bool glob_match_list(const char *patterns, const char *name)
{
    const char *item;
    size_t n;

    while (parse_item(&patterns, &item, &n))
        if (glob_span((struct glob_pattern){item, item + n}, name))
            return true;
    return false;
}
