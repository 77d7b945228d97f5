#include "text.h"

#include <errno.h>
#include <string.h>

#define TEXT_SHOWN 60 /* bytes of a bad item that a complaint shows */

/* In the order of most machines' numbers; those that reading /proc, opening a log, or an allocator's call can give. */
static const struct {
    int number;
    const char *name;
} text_errors[] = {
#define ERROR(e) {e, #e}
    ERROR(EPERM), ERROR(ENOENT), ERROR(ESRCH), ERROR(EINTR), ERROR(EIO), ERROR(ENXIO),
    ERROR(E2BIG), ERROR(ENOEXEC), ERROR(EBADF), ERROR(ECHILD), ERROR(EAGAIN), ERROR(ENOMEM),
    ERROR(EACCES), ERROR(EFAULT), ERROR(EBUSY), ERROR(EEXIST), ERROR(EXDEV), ERROR(ENODEV),
    ERROR(ENOTDIR), ERROR(EISDIR), ERROR(EINVAL), ERROR(ENFILE), ERROR(EMFILE), ERROR(ENOTTY),
    ERROR(ETXTBSY), ERROR(EFBIG), ERROR(ENOSPC), ERROR(ESPIPE), ERROR(EROFS), ERROR(EMLINK),
    ERROR(EPIPE), ERROR(EDOM), ERROR(ERANGE), ERROR(EDEADLK), ERROR(ENAMETOOLONG), ERROR(ENOSYS),
    ERROR(ENOTEMPTY), ERROR(ELOOP), ERROR(ENODATA), ERROR(ETIME), ERROR(EPROTO), ERROR(EBADMSG),
    ERROR(EOVERFLOW), ERROR(EILSEQ), ERROR(ENOTSOCK), ERROR(EMSGSIZE), ERROR(EOPNOTSUPP), ERROR(EADDRINUSE),
    ERROR(ECONNABORTED), ERROR(ECONNRESET), ERROR(ENOBUFS), ERROR(ENOTCONN), ERROR(ETIMEDOUT), ERROR(ECONNREFUSED),
    ERROR(EALREADY), ERROR(EINPROGRESS), ERROR(ESTALE), ERROR(EDQUOT), ERROR(ECANCELED),
#undef ERROR
};

void text_init(struct text *t, char *buffer, size_t size)
{
    t->at = buffer;
    t->size = size;
    t->len = 0;
    t->cut = false;
    t->at[0] = '\0';
}

void text_mem(struct text *t, const char *bytes, size_t n)
{
    size_t room = t->size - 1 - t->len;

    if (n > room) {
        n = room;
        t->cut = true;
    }
    memcpy(t->at + t->len, bytes, n);
    t->len += n;
    t->at[t->len] = '\0';
}

void text_str(struct text *t, const char *s)
{
    if (s)
        text_mem(t, s, strlen(s));
}

void text_char(struct text *t, char c)
{
    text_mem(t, &c, 1);
}

void text_pad(struct text *t, uint64_t n, unsigned width)
{
    char digits[20]; /* 2^64 has 20 */
    size_t used = 0;

    do {
        digits[sizeof digits - ++used] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    while (used < width && used < sizeof digits)
        digits[sizeof digits - ++used] = '0';
    text_mem(t, digits + sizeof digits - used, used);
}

void text_u64(struct text *t, uint64_t n)
{
    text_pad(t, n, 1);
}

void text_i64(struct text *t, int64_t n)
{
    if (n < 0)
        text_char(t, '-');
    text_u64(t, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

void text_seconds(struct text *t, int64_t ns)
{
    uint64_t us = ((ns < 0 ? -(uint64_t)ns : (uint64_t)ns) + 500) / 1000;

    if (ns < 0 && us)
        text_char(t, '-');
    text_u64(t, us / 1000000);
    text_char(t, '.');
    text_pad(t, us % 1000000, 6);
}

void text_mib(struct text *t, int64_t bytes)
{
    uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes, mib = (size + (UINT64_C(1) << 19)) >> 20;

    if (bytes < 0 && mib)
        text_char(t, '-');
    text_u64(t, mib);
}

void text_amount(struct text *t, int64_t bytes)
{
    static const int64_t mib = INT64_C(1) << 20;

    if (bytes >= mib || bytes <= -mib) {
        text_mib(t, bytes);
        text_str(t, " MiB");
    } else {
        text_i64(t, bytes / 1024);
        text_str(t, " KiB");
    }
}

/* Overlong forms, surrogates and what lies beyond U+10FFFF are none (RFC 3629), so that no reader of a record is handed what
 * a strict decoder refuses. */
size_t text_utf8(const char *bytes, size_t left)
{
    const unsigned char *s = (const unsigned char *)bytes;
    size_t n = !left ? 0 : s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

    for (size_t i = 1; i < n; i++)
        if (i == left || (s[i] & 0xc0) != 0x80)
            return 0;
    if (n > 2 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f)))
        return 0;
    return n;
}

/* C0, DEL, and C1 (U+0080 to U+009F, of which U+009B starts a terminal's escape sequence as ESC [ does). */
static bool text_is_control(const unsigned char *s)
{
    return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

/* s is a control character or a byte of none: its number as two hexadecimal digits. */
static void text_hex(struct text *t, unsigned char byte)
{
    static const char digit[16] = "0123456789abcdef";

    text_char(t, digit[byte >> 4]);
    text_char(t, digit[byte & 15]);
}

void text_printable(struct text *t, const char *s, size_t limit)
{
    const unsigned char *c = (const unsigned char *)s;
    size_t end = t->len + limit;

    while (s && *c) {
        size_t n = text_utf8((const char *)c, 4);
        bool plain = n && !text_is_control(c);

        if (t->len + (plain ? n : 4) > end) {
            text_str(t, "...");
            return;
        }
        if (plain) {
            text_mem(t, (const char *)c, n);
        } else {
            n = 1;
            text_str(t, "\\x");
            text_hex(t, *c);
        }
        c += n;
    }
}

/* One character of a JSON string, complete or not at all: how many bytes of s it stood for. */
static size_t text_json_char(struct text *t, const unsigned char *c)
{
    size_t n = text_utf8((const char *)c, 4);

    if (!n) {
        text_str(t, "\xef\xbf\xbd"); /* U+FFFD */
        return 1;
    }
    if (*c == '"' || *c == '\\') {
        text_char(t, '\\');
        text_char(t, (char)*c);
    } else if (*c == '\n' || *c == '\t') {
        text_str(t, *c == '\n' ? "\\n" : "\\t");
    } else if (text_is_control(c)) {
        text_str(t, "\\u00");
        text_hex(t, c[n - 1]);
    } else {
        text_mem(t, (const char *)c, n);
    }
    return n;
}

void text_json(struct text *t, const char *s, size_t limit)
{
    char one[8];
    struct text piece;
    size_t room = t->size - 1 - t->len, end;

    if (!s) {
        text_str(t, "null");
        return;
    }
    if (room < 2) {
        t->cut = true;
        return;
    }
    end = t->len + (limit < room ? limit : room) - 1; /* where the closing quote has to stand at the latest */
    text_char(t, '"');
    for (const unsigned char *c = (const unsigned char *)s; *c;) {
        text_init(&piece, one, sizeof one);
        c += text_json_char(&piece, c);
        if (t->len + piece.len > end) {
            t->cut = true;
            break;
        }
        text_mem(t, piece.at, piece.len);
    }
    text_char(t, '"');
}

void text_escaped(struct text *t, const char *s)
{
    for (const unsigned char *c = (const unsigned char *)s; *c;) {
        size_t n = text_utf8((const char *)c, 4);

        if (*c == '"' || *c == '\\')
            text_char(t, '\\');
        if (*c == '\n')
            text_str(t, "\\n");
        else if (n && !text_is_control(c))
            text_mem(t, (const char *)c, n);
        else
            text_str(t, "\xef\xbf\xbd"); /* U+FFFD */
        c += n ? n : 1;
    }
}

void text_errno(struct text *t, int error)
{
    for (size_t i = 0; i < sizeof text_errors / sizeof *text_errors; i++)
        if (text_errors[i].number == error) {
            text_str(t, text_errors[i].name);
            return;
        }
    text_i64(t, error);
}

void text_expected(struct text *t, const char *value, const char *item, size_t n, const char *what)
{
    char shown[TEXT_SHOWN + 5]; /* more than is shown, so that what is cut off is seen to be */
    size_t kept = n < sizeof shown - 1 ? n : sizeof shown - 1;

    memcpy(shown, item, kept);
    shown[kept] = '\0';
    text_char(t, '"');
    text_printable(t, shown, TEXT_SHOWN);
    text_str(t, "\" at ");
    text_u64(t, (uint64_t)(item - value) + 1);
    text_str(t, ": expected ");
    text_str(t, what);
}
