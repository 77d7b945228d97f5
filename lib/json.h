/* json: reads the members of one JSON object, and writes keys and values into one.
 *
 * Pure: no malloc, no stdio, any thread. The reader takes exactly what RFC 8259 calls a JSON text whose value is an object. */
#ifndef GIVEBACK_JSON_H
#define GIVEBACK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

#define JSON_DEPTH 16 /* objects and arrays within each other */

enum json_kind { JSON_ABSENT, JSON_STRING, JSON_OTHER };

struct json_field {
    const char *name;
    char *value; /* a string's text, ended by a NUL; "" for all else */
    size_t size;
    enum json_kind kind;
};

/* Looks for members of these names; others are only checked. 0, -EINVAL: it is no such object, is nested deeper than
 * JSON_DEPTH, or has one of these twice or with a NUL in it; -ENAMETOOLONG: a value does not fit. */
int json_read(const char *text, size_t n, struct json_field *fields, size_t n_fields);

/* ,"key": in front of a value; the first key of an object has no comma. */
void json_add_key(struct text *t, const char *key);
void json_add_number(struct text *t, const char *key, int64_t value, bool known); /* not known: null */
void json_add_bool(struct text *t, const char *key, bool value);
void json_add_string(struct text *t, const char *key, const char *value, size_t limit); /* as text_json */

#endif
