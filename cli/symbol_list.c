/* symbol_list: see symbols.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "event.h"
#include "glob.h"
#include "stackneed.h"
#include "symbols.h"

bool symbols_match(const struct symbols *s, const char *name, const char *other, const char *bare, bool *exactly)
{
    bool match = !s->n_patterns;

    *exactly = false;
    for (size_t i = 0; i < s->n_patterns; i++) {
        const char *p = s->patterns[i];
        *exactly |= strcmp(p, name) == 0 || (other && strcmp(p, other) == 0);
        match |= *exactly || (bare && strcmp(p, bare) == 0) || glob_match(p, name) || (other && glob_match(p, other)) ||
                 (bare && glob_match(p, bare));
    }
    return match;
}

void symbols_add(struct symbols *s, const struct symbol *symbol)
{
    if (s->hookable && symbol->verdict == VERDICT_NO)
        return;
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;
        struct symbol *at = realloc(s->at, room * sizeof *at);
        if (!at) {
            s->exhausted = true;
            return;
        }
        s->at = at;
        s->room = room;
    }
    s->at[s->n++] = *symbol;
}

struct adding {
    struct symbols *list;
    const struct elfobject *object;
    size_t first; /* of this object in the list */
    const char *name, *path;
};

static void add_symbol(void *context, const char *name, const Elf64_Sym *y)
{
    struct adding *a = context;
    bool function = y->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(y->st_info) != STT_OBJECT, exactly;
    char *demangled = a->list->n_patterns || function ? demangle(name, NAME_USUAL) : NULL;
    char *bare = demangled && a->list->n_patterns ? demangle(name, NAME_BARE) : NULL;
    bool match = symbols_match(a->list, name, demangled, bare, &exactly);
    char *verbose = demangled && !match ? demangle(name, NAME_VERBOSE) : NULL;

    if (verbose)
        match = symbols_match(a->list, name, verbose, NULL, &exactly);
    if (match && (function || exactly)) {
        struct symbol s = {.object = a->name, .path = a->path, .name = strdup(name), .demangled = demangled,
                           .value = y->st_value, .size = y->st_size, .type = ELF64_ST_TYPE(y->st_info),
                           .elsewhere = y->st_shndx == SHN_UNDEF};
        s.verdict = elfobject_verdict(a->object, name, y, &s.why);
        if (s.name)
            symbols_add(a->list, &s);
        else
            a->list->exhausted = true;
    } else {
        free(demangled);
    }
    free(bare);
    free(verbose);
}

static int by_name_and_value(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    return order ? order : a->value < b->value ? -1 : a->value > b->value;
}

static int by_value(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;

    return a->value < b->value ? -1 : a->value > b->value;
}

/* What stands in several tables once. */
static void drop_doubles(struct adding *a)
{
    struct symbols *s = a->list;
    size_t kept = a->first;

    if (s->n > a->first)
        qsort(s->at + a->first, s->n - a->first, sizeof *s->at, by_name_and_value);
    for (size_t i = a->first; i < s->n; i++)
        if (kept == a->first || by_name_and_value(&s->at[kept - 1], &s->at[i]) != 0)
            s->at[kept++] = s->at[i];
    s->n = kept;
}

static void note_stack(void *context, uint64_t address, uint64_t bytes)
{
    struct adding *a = context;
    struct symbol key = {.value = address}, *from = a->list->at + a->first, *end = a->list->at + a->list->n;
    struct symbol *found = bsearch(&key, from, (size_t)(end - from), sizeof key, by_value);

    if (!found)
        return;
    while (found > from && found[-1].value == address)
        found--;
    for (; found < end && found->value == address; found++)
        if (found->verdict != VERDICT_NO) {
            found->stack = (bytes + 15) & ~(uint64_t)15;
            if (found->stack > EVENT_STACK_MAX) {
                found->verdict = VERDICT_NO;
                found->why = "its arguments take more of the stack than stack= can ask for";
            }
        }
}

void symbols_add_object(struct symbols *s, struct elfobject *o)
{
    struct adding a = {.list = s, .object = o, .first = s->n, .name = strdup(o->name), .path = strdup(o->path)};

    if (a.name && a.path)
        elfobject_symbols(o, add_symbol, &a);
    else
        s->exhausted = true;
    drop_doubles(&a);
    if (s->n > a.first) {
        qsort(s->at + a.first, s->n - a.first, sizeof *s->at, by_value);
        stackneed_read(o->elf, EVENT_STACK, note_stack, &a);
        if (o->debug)
            stackneed_read(o->debug, EVENT_STACK, note_stack, &a);
    }
    elfobject_close(o);
}

/* Wildcards mean themselves; ':' and ',' cannot, and '?' matches them. */
static void put_plain(FILE *out, const char *s)
{
    for (; *s; s++) {
        if (strchr("*?[\\", *s))
            (void)fputc('\\', out);
        (void)fputc(*s == ':' || *s == ',' ? '?' : *s, out);
    }
}

char *symbols_quote(const char *s)
{
    char *text = NULL;
    size_t size;
    FILE *out;

    if (!strpbrk(s, ";=\" \t") && !strstr(s, "->"))
        return strdup(s);
    out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    (void)fputc('"', out);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            (void)fputc('\\', out);
        (void)fputc(*s, out);
    }
    (void)fputc('"', out);
    return fclose(out) == 0 ? text : NULL;
}

char *symbols_target(const struct symbol *s)
{
    char *text = NULL, *quoted;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    if (!s->type) {
        (void)fprintf(out, "py:%s:%s", s->object, s->name);
    } else {
        put_plain(out, s->object);
        (void)fputc(':', out);
        put_plain(out, s->name);
    }
    if (s->stack)
        (void)fprintf(out, ",stack=%lu", (unsigned long)s->stack);
    quoted = fclose(out) == 0 ? symbols_quote(text) : NULL;
    free(text);
    return quoted;
}
