/* json: is a text one JSON object (RFC 8259) on one line? Strict on purpose, and written from the grammar, not from the
 * writer: for the unit tests and the fuzzer. */
#ifndef GIVEBACK_TEST_JSON_H
#define GIVEBACK_TEST_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool json_value(const char **p, int depth);

static bool json_digits(const char **p)
{
    size_t n = strspn(*p, "0123456789");

    *p += n;
    return n > 0;
}

static bool json_number(const char **p)
{
    *p += **p == '-';
    if (**p == '0')
        (*p)++;
    else if (!json_digits(p))
        return false;
    if (**p == '.') {
        (*p)++;
        return json_digits(p);
    }
    return true;
}

/* The length of a UTF-8 sequence that is none of the overlong forms and no surrogate, 0: it is none. */
static size_t json_utf8(const unsigned char *s)
{
    static const struct {
        unsigned low, high;
        unsigned char mask, lead;
        size_t n;
    } forms[] = {{0x80, 0x7ff, 0x1f, 0xc0, 2}, {0x800, 0xffff, 0x0f, 0xe0, 3}, {0x10000, 0x10ffff, 0x07, 0xf0, 4}};

    if (*s < 0x80)
        return 1;
    for (size_t i = 0; i < 3; i++) {
        if ((*s & (unsigned char)~forms[i].mask) != forms[i].lead)
            continue;
        unsigned code = *s & forms[i].mask;
        for (size_t k = 1; k < forms[i].n; k++) {
            if ((s[k] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (s[k] & 0x3f);
        }
        bool surrogate = code >= 0xd800 && code < 0xe000;
        return code >= forms[i].low && code <= forms[i].high && !surrogate ? forms[i].n : 0;
    }
    return 0;
}

static bool json_string(const char **p)
{
    if (*(*p)++ != '"')
        return false;
    while (**p != '"') {
        const unsigned char *c = (const unsigned char *)*p;
        size_t n = json_utf8(c);
        if (*c < 0x20 || *c == 0x7f || !n)
            return false;
        if (*c == '\\') {
            n = c[1] == 'u' ? 6 : 2;
            if (c[1] == 'u' ? strspn(*p + 2, "0123456789abcdef") < 4 : !c[1] || !strchr("\"\\/bfnrt", c[1]))
                return false;
        }
        *p += n;
    }
    (*p)++;
    return true;
}

static bool json_members(const char **p, char close, int depth)
{
    (*p)++;
    if (**p == close) {
        (*p)++;
        return true;
    }
    for (;;) {
        if (close == '}' && (!json_string(p) || *(*p)++ != ':'))
            return false;
        if (!json_value(p, depth + 1))
            return false;
        if (**p == close) {
            (*p)++;
            return true;
        }
        if (*(*p)++ != ',')
            return false;
    }
}

static bool json_value(const char **p, int depth)
{
    static const char *const words[] = {"null", "true", "false"};

    if (depth > 8)
        return false;
    switch (**p) {
    case '{': return json_members(p, '}', depth);
    case '[': return json_members(p, ']', depth);
    case '"': return json_string(p);
    default: break;
    }
    for (size_t i = 0; i < 3; i++)
        if (strncmp(*p, words[i], strlen(words[i])) == 0) {
            *p += strlen(words[i]);
            return true;
        }
    return json_number(p);
}

/* One object and the newline, nothing else: a line of JSON Lines without blanks. */
static bool json_line(const char *text)
{
    return *text == '{' && json_value(&text, 0) && strcmp(text, "\n") == 0;
}

#endif
