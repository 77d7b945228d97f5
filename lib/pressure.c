#include "pressure.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

static int pressure_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

long pressure_decode(const char *base64, unsigned char *out, size_t size)
{
    uint32_t bits = 0;
    unsigned digits = 0, padding = 0;
    size_t n = 0;

    for (; *base64; base64++) {
        int digit = pressure_digit(*base64);

        if (strchr(" \t\r\n", *base64))
            continue;
        if (*base64 == '=' && digits % 4 + padding < 4 && digits % 4 >= 2) {
            padding++;
            continue;
        }
        if (digit < 0 || padding)
            return -EINVAL;
        bits = bits << 6 | (uint32_t)digit;
        if (digits++ % 4 == 0)
            continue;
        if (n == size)
            return -ENOBUFS;
        out[n++] = (unsigned char)(bits >> (6 - 2 * ((digits - 1) % 4)));
    }
    return (digits + padding) % 4 ? -EINVAL : (long)n;
}

int pressure_cgroup(const char *text, size_t n, char *path, size_t size)
{
    const char *end = text + n;

    for (const char *line = text, *next; line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));

        stop = stop ? stop : end;
        next = stop + 1;
        if (stop - line < 4 || memcmp(line, "0::/", 4) != 0)
            continue;
        size_t length = (size_t)(stop - line) - 3;
        if (length >= size)
            return -ENAMETOOLONG;
        memcpy(path, line + 3, length);
        path[length] = '\0';
        return 0;
    }
    return -ENODATA;
}

/* A piece of a line. */
struct pressure_field {
    const char *at;
    size_t n;
};

/* The next field up to a blank; an empty one behind the last. */
static struct pressure_field pressure_next(struct pressure_field *rest)
{
    const char *blank = rest->n ? memchr(rest->at, ' ', rest->n) : NULL;
    struct pressure_field field = {rest->at, blank ? (size_t)(blank - rest->at) : rest->n};
    size_t used = field.n + (blank != NULL);

    rest->at += used;
    rest->n -= used;
    return field;
}

static bool pressure_is(struct pressure_field f, const char *word)
{
    return f.n == strlen(word) && memcmp(f.at, word, f.n) == 0;
}

static bool pressure_is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* With what mountinfo escapes: blanks, line ends and backslashes as \ooo. */
static void pressure_unescape(struct text *t, struct pressure_field f)
{
    for (size_t i = 0; i < f.n; i++) {
        const char *c = f.at + i;

        if (f.n - i >= 4 && c[0] == '\\' && pressure_is_octal(c[1]) && pressure_is_octal(c[2]) && pressure_is_octal(c[3])) {
            text_char(t, (char)((c[1] - '0') << 6 | (c[2] - '0') << 3 | (c[3] - '0')));
            i += 3;
        } else {
            text_char(t, *c);
        }
    }
}

int pressure_file(const char *line, size_t n, const char *cgroup, char *path, size_t size)
{
    struct pressure_field rest = {line, n}, root, point, field;
    struct text t;

    for (int i = 0; i < 3; i++) /* id, parent, device */
        pressure_next(&rest);
    root = pressure_next(&rest);
    point = pressure_next(&rest);
    do /* options and any number of optional fields */
        field = pressure_next(&rest);
    while (rest.n && !pressure_is(field, "-"));
    if (!pressure_is(pressure_next(&rest), "cgroup2") || !point.n)
        return -ENOENT;
    /* A container may be shown a part of the hierarchy only, under a path of which it sees the rest. */
    text_init(&t, path, size);
    pressure_unescape(&t, root);
    if (t.len == 1)
        t.len = 0;
    else if (t.cut || strlen(path) != t.len)
        return -ENOENT;
    if (strncmp(cgroup, path, t.len) != 0 || (cgroup[t.len] != '/' && cgroup[t.len] != '\0'))
        return -ENOENT;
    cgroup += t.len;
    text_init(&t, path, size);
    pressure_unescape(&t, point);
    if (strcmp(cgroup, "/") != 0)
        text_str(&t, cgroup);
    text_str(&t, "/memory.pressure");
    return t.cut ? -ENAMETOOLONG : strlen(path) != t.len ? -ENOENT : 0; /* a NUL is in no path */
}
