#include "line.h"

#include <string.h>

#include "text.h"

#define LINE_MORE "..."

static void line_add(struct line *l, const char *bytes, size_t n)
{
    size_t room = sizeof l->text - l->n;

    l->more |= n > room;
    if (n > room)
        n = room;
    memcpy(l->text + l->n, bytes, n);
    l->n += n;
}

/* The text up to its last whole character, which a label and the mark that it was longer have room for. */
static size_t line_whole(const struct line *l, size_t room)
{
    size_t whole = 0, n;

    while (whole < l->n && (n = text_utf8(l->text + whole, l->n - whole)) && whole + n <= room)
        whole += n;
    return whole;
}

static void line_end(const struct line *l, char label[EVENT_LABEL_MAX])
{
    bool more = l->more || l->n == sizeof l->text;
    size_t n = line_whole(l, more ? EVENT_LABEL_MAX - sizeof LINE_MORE : l->n);
    char plain[EVENT_LABEL_MAX], shown[EVENT_LABEL_MAX];
    struct text t;

    label[0] = '\0';
    if ((!more && n < l->n) || memchr(l->text, '\0', n))
        return;
    memcpy(plain, l->text, n);
    plain[n] = '\0';
    text_init(&t, shown, sizeof shown);
    text_printable(&t, plain, sizeof shown);
    if (strcmp(plain, shown) != 0) /* a control character was in it */
        return;
    text_init(&t, label, EVENT_LABEL_MAX);
    text_str(&t, plain);
    if (more)
        text_str(&t, LINE_MORE);
}

size_t line_feed(struct line *l, const char *bytes, size_t n, char label[EVENT_LABEL_MAX])
{
    size_t lines = 0;
    const char *end;

    for (; (end = memchr(bytes, '\n', n)); lines++) {
        size_t length = (size_t)(end - bytes);

        line_add(l, bytes, length);
        line_end(l, label);
        l->n = 0;
        l->more = false;
        bytes = end + 1;
        n -= length + 1;
    }
    line_add(l, bytes, n);
    return lines;
}
