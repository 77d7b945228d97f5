#include "json.h"

#include <errno.h>
#include <string.h>

struct json {
    const char *at, *end;
    unsigned depth;
};

/* Where a string's text goes; a plain check has no place for it. */
struct json_out {
    struct text text;
    bool wanted, nul;
};

static bool json_take(struct json *j, char c)
{
    if (j->at == j->end || *j->at != c)
        return false;
    j->at++;
    return true;
}

static void json_blank(struct json *j)
{
    while (j->at < j->end && memchr(" \t\n\r", *j->at, 4))
        j->at++;
}

static bool json_digits(struct json *j)
{
    const char *from = j->at;

    while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
        j->at++;
    return j->at > from;
}

static bool json_skip_number(struct json *j)
{
    (void)json_take(j, '-');
    if (!json_take(j, '0') && !json_digits(j))
        return false;
    if (json_take(j, '.') && !json_digits(j))
        return false;
    if (json_take(j, 'e') || json_take(j, 'E')) {
        if (!json_take(j, '+'))
            (void)json_take(j, '-');
        return json_digits(j);
    }
    return true;
}

/* Four hexadecimal digits; -1: they are none. */
static long json_hex(struct json *j)
{
    long code = 0;

    for (int i = 0; i < 4; i++, j->at++) {
        if (j->at == j->end)
            return -1;
        char c = *j->at;
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    return code;
}

static void json_put(struct json_out *out, const char *bytes, size_t n)
{
    if (out->wanted)
        text_mem(&out->text, bytes, n);
    out->nul |= memchr(bytes, '\0', n) != NULL;
}

static void json_put_code(struct json_out *out, unsigned long code)
{
    unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    char utf8[4];

    utf8[0] = (char)(lead[more] | code >> 6 * more);
    for (unsigned i = 1; i <= more; i++)
        utf8[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    json_put(out, utf8, more + 1);
}

/* Behind \u. Half a surrogate pair is no character, so no UTF-8 could carry it on. */
static bool json_unicode(struct json *j, struct json_out *out)
{
    long code = json_hex(j), low;

    if (code < 0 || (code >= 0xdc00 && code < 0xe000))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (!json_take(j, '\\') || !json_take(j, 'u') || (low = json_hex(j)) < 0xdc00 || low >= 0xe000)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    json_put_code(out, (unsigned long)code);
    return true;
}

static bool json_escape(struct json *j, struct json_out *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

    if (json_take(j, 'u'))
        return json_unicode(j, out);
    const char *c = j->at < j->end && *j->at ? strchr(from, *j->at) : NULL;
    if (!c)
        return false;
    j->at++;
    json_put(out, to + (c - from), 1);
    return true;
}

static bool json_take_string(struct json *j, struct json_out *out)
{
    if (!json_take(j, '"'))
        return false;
    while (!json_take(j, '"')) {
        size_t n = text_utf8(j->at, (size_t)(j->end - j->at));

        if (!n || (unsigned char)*j->at < 0x20)
            return false;
        if (json_take(j, '\\')) {
            if (!json_escape(j, out))
                return false;
            continue;
        }
        json_put(out, j->at, n);
        j->at += n;
    }
    return true;
}

static bool json_skip(struct json *j);

/* Members of an array or, where `keys`, of an object, up to the closing mark. */
static bool json_skip_members(struct json *j, char close, bool keys)
{
    struct json_out none = {.wanted = false};

    if (++j->depth > JSON_DEPTH)
        return false;
    json_blank(j);
    if (json_take(j, close)) {
        j->depth--;
        return true;
    }
    do {
        json_blank(j);
        if (keys && !json_take_string(j, &none))
            return false;
        json_blank(j);
        if ((keys && !json_take(j, ':')) || !json_skip(j))
            return false;
    } while (json_take(j, ','));
    j->depth--;
    return json_take(j, close);
}

static bool json_skip_word(struct json *j)
{
    static const char *const words[] = {"null", "true", "false"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(j->end - j->at) >= n && memcmp(j->at, words[i], n) == 0) {
            j->at += n;
            return true;
        }
    }
    return false;
}

/* One value with the blanks round it. */
static bool json_skip(struct json *j)
{
    struct json_out none = {.wanted = false};
    bool good;

    json_blank(j);
    if (j->at == j->end)
        return false;
    switch (*j->at) {
    case '{':
        j->at++;
        good = json_skip_members(j, '}', true);
        break;
    case '[':
        j->at++;
        good = json_skip_members(j, ']', false);
        break;
    case '"': good = json_take_string(j, &none); break;
    case 'n':
    case 't':
    case 'f': good = json_skip_word(j); break;
    default: good = json_skip_number(j);
    }
    json_blank(j);
    return good;
}

/* The value of a member that is looked for: 0, -EINVAL, -ENAMETOOLONG. */
static int json_value(struct json *j, struct json_field *field)
{
    struct json_out out = {.wanted = true};

    if (field->kind != JSON_ABSENT)
        return -EINVAL;
    json_blank(j);
    field->kind = JSON_OTHER;
    if (j->at == j->end || *j->at != '"')
        return json_skip(j) ? 0 : -EINVAL;
    field->kind = JSON_STRING;
    text_init(&out.text, field->value, field->size);
    if (!json_take_string(j, &out) || out.nul)
        return -EINVAL;
    json_blank(j);
    return out.text.cut ? -ENAMETOOLONG : 0;
}

static int json_member(struct json *j, struct json_field *fields, size_t n_fields)
{
    char name[32]; /* longer names are nobody's */
    struct json_out out = {.wanted = true};

    text_init(&out.text, name, sizeof name);
    json_blank(j);
    if (!json_take_string(j, &out))
        return -EINVAL;
    json_blank(j);
    if (!json_take(j, ':'))
        return -EINVAL;
    for (size_t i = 0; i < n_fields && !out.nul && !out.text.cut; i++)
        if (strcmp(fields[i].name, name) == 0)
            return json_value(j, &fields[i]);
    return json_skip(j) ? 0 : -EINVAL;
}

int json_read(const char *text, size_t n, struct json_field *fields, size_t n_fields)
{
    struct json j = {text, text + n, 1};
    int long_one = 0;

    for (size_t i = 0; i < n_fields; i++) {
        fields[i].kind = JSON_ABSENT;
        fields[i].value[0] = '\0';
    }
    json_blank(&j);
    if (!json_take(&j, '{'))
        return -EINVAL;
    json_blank(&j);
    if (!json_take(&j, '}')) {
        do {
            int error = json_member(&j, fields, n_fields);
            if (error == -ENAMETOOLONG)
                long_one = error;
            else if (error)
                return error;
        } while (json_take(&j, ','));
        if (!json_take(&j, '}'))
            return -EINVAL;
    }
    json_blank(&j);
    return j.at == j.end ? long_one : -EINVAL;
}

void json_add_key(struct text *t, const char *key)
{
    if (t->len && t->at[t->len - 1] != '{')
        text_char(t, ',');
    text_char(t, '"');
    text_str(t, key);
    text_str(t, "\":");
}

void json_add_number(struct text *t, const char *key, int64_t value, bool known)
{
    json_add_key(t, key);
    known ? text_i64(t, value) : text_str(t, "null");
}

void json_add_bool(struct text *t, const char *key, bool value)
{
    json_add_key(t, key);
    text_str(t, value ? "true" : "false");
}

void json_add_string(struct text *t, const char *key, const char *value, size_t limit)
{
    json_add_key(t, key);
    text_json(t, value, limit);
}
