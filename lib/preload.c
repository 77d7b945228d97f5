#include "preload.h"

#include <errno.h>
#include <string.h>

#include "text.h"

/* What separates entries of LD_PRELOAD for glibc's ld.so: these two, and no tab or newline. */
static const char preload_separators[] = " :";

static const char *preload_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The length of a token that ld.so replaces ($LIB, ${ORIGIN}, ...), 0 when there is none at s. */
static size_t preload_token(const char *s, size_t n)
{
    static const char *const tokens[] = {"ORIGIN", "LIB", "PLATFORM"};

    for (size_t i = 0; n > 1 && *s == '$' && i < sizeof tokens / sizeof *tokens; i++) {
        size_t brace = s[1] == '{', length = strlen(tokens[i]), all = 1 + brace + length + brace;
        if (n >= all && memcmp(s + 1 + brace, tokens[i], length) == 0 && (!brace || s[all - 1] == '}'))
            return all;
    }
    return 0;
}

/* Is `own` what the entry stands for, when a token may stand for anything? As with '*' in a glob, only the last token
 * has to be gone back to. */
static bool preload_expands_to(const char *entry, size_t n, const char *own)
{
    size_t at = 0, behind = 0; /* in the entry; behind the last token, which is 0 before the first */
    const char *taken = own;

    while (*own) {
        size_t token = preload_token(entry + at, n - at);
        if (token) {
            behind = at += token;
            taken = own;
        } else if (at < n && entry[at] == *own) {
            at++;
            own++;
        } else if (behind) {
            at = behind;
            own = ++taken;
        } else {
            return false;
        }
    }
    return at == n;
}

bool preload_entry_is(const char *entry, size_t n, const char *own)
{
    size_t length = strlen(own);

    if (!n)
        return false;
    /* A name without a folder is searched for, so only its last part is known. */
    if (!memchr(entry, '/', n))
        return strlen(preload_base(own)) == n && memcmp(preload_base(own), entry, n) == 0;
    if (preload_expands_to(entry, n, own))
        return true;
    /* A relative path, while `own` is absolute: the folder it began in may have been left since, so its ends decide. */
    if (*entry == '/' || *entry == '$' || *own != '/')
        return false;
    while (n > 2 && *entry == '.') {
        size_t step = entry[1] == '/' ? 2 : entry[1] == '.' && entry[2] == '/' ? 3 : 0;
        if (!step)
            break;
        entry += step;
        n -= step;
    }
    return length > n && own[length - n - 1] == '/' && memcmp(own + length - n, entry, n) == 0;
}

unsigned preload_drop(char *value, const char *own)
{
    unsigned dropped = 0;
    char *to = value;

    for (const char *from = value; *from;) {
        size_t gap = strspn(from, preload_separators), n = strcspn(from + gap, preload_separators);
        if (preload_entry_is(from + gap, n, own)) {
            dropped++;
            /* With the first entry goes the separator behind it, with any other the one in front. */
            if (to == value && from[gap + n])
                n++;
        } else {
            memmove(to, from, gap + n);
            to += gap + n;
        }
        from += gap + n;
    }
    *to = '\0';
    return dropped;
}

int preload_expand(const char *pattern, int pid, const char *program, char *out, size_t size)
{
    struct text t;

    text_init(&t, out, size);
    for (const char *c = pattern; *c; c++) {
        if (*c != '%') {
            text_char(&t, *c);
            continue;
        }
        switch (*++c) {
        case '%': text_char(&t, '%'); break;
        case 'p': text_i64(&t, pid); break;
        case 'n':
            for (const char *p = program; *p; p++)
                text_char(&t, *p == '/' ? '_' : *p);
            break;
        default: return -EINVAL;
        }
    }
    return t.cut ? -ENAMETOOLONG : 0;
}
