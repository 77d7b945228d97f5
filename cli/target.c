/* target: see target.h. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "closure.h"
#include "command.h"
#include "event.h"
#include "glob.h"
#include "symbols.h"

enum { ARGUMENT_MAX = 4096 };

/* A target in its parts. */
struct target {
    char *object; /* "": any */
    char *symbol;
    char stack[24]; /* with its ",stack=", or "" */
    char text[ARGUMENT_MAX];
};

/* Where OBJECT ends: at a single ':' that stands before anything that only a demangled name has; NULL: there is none. */
static char *object_end(char *s)
{
    for (; *s && !strchr("(< ", *s); s++)
        if (s[0] == ':' && s[1] != ':')
            return s;
        else if (s[0] == ':')
            s++;
    return NULL;
}

static void target_split(struct target *t)
{
    char *stack = strstr(t->text, ",stack="), *colon;
    static char none[1];

    t->stack[0] = '\0';
    if (stack && !stack[7 + strspn(stack + 7, "0123456789")] && strlen(stack) < sizeof t->stack) {
        memcpy(t->stack, stack, strlen(stack) + 1);
        *stack = '\0';
    }
    colon = object_end(t->text);
    t->object = colon ? t->text : none;
    t->symbol = colon ? colon + 1 : t->text;
    if (colon)
        *colon = '\0';
}

/* Is it a name that no symbol table has? */
static bool target_is_demangled(const struct target *t)
{
    return strstr(t->symbol, "::") || strpbrk(t->symbol, "(<~ ");
}

/* Or a file that ld.so does not know by this name? */
static bool target_is_ours(const struct target *t)
{
    return target_is_demangled(t) || strchr(t->object, '/');
}

/* Where functions are looked for, and which. */
struct looking {
    const struct target *target;
    struct symbols found;
    char *const *globs; /* while names are counted: what matches any function that is not among `found` */
    bool foreign;
    char *object; /* of a file, its name as a target has it */
    bool seen;    /* an object of that name */
};

static bool object_open(struct looking *l, struct elfobject *o, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    if (fd < 0 || elfobject_open(o, fd, path))
        return false;
    if (!*l->target->object || strchr(l->target->object, '/') || glob_match(l->target->object, o->name) || glob_match(l->target->object, base))
        return true;
    elfobject_close(o);
    return false;
}

static void look_in(void *context, const char *path)
{
    struct looking *l = context;
    struct elfobject o;

    if (!object_open(l, &o, path))
        return;
    l->seen = true;
    if (!l->object)
        l->object = strdup(o.name);
    symbols_add_object(&l->found, &o);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct symbol *)left)->name, ((const struct symbol *)right)->name);
}

static void count_name(void *context, const char *name, const Elf64_Sym *symbol)
{
    struct looking *l = context;

    if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT || !glob_match(l->globs[0], name))
        return;
    const struct symbol key = {.name = name};
    l->foreign |= !bsearch(&key, l->found.at, l->found.n, sizeof key, by_name);
}

static void count_in(void *context, const char *path)
{
    struct looking *l = context;
    struct elfobject o;

    if (!object_open(l, &o, path))
        return;
    elfobject_symbols(&o, count_name, l);
    elfobject_close(&o);
}

static int everywhere(struct looking *l, const char *program, closure_visit visit)
{
    if (!strchr(l->target->object, '/'))
        return closure_read(program, visit, l);
    visit(l, l->target->object);
    return 0;
}

/* Functions that can be hooked, each name once; when there are none, the first of the others says why. Where debug info tells that
 * one of them takes much of the stack, this is asked for. */
static const char *keep_hookable(struct looking *l, struct target *t)
{
    struct symbols *s = &l->found;
    const char *why = NULL;
    size_t kept = 0, refused = 0;
    uint64_t stack = 0;

    if (s->n)
        qsort(s->at, s->n, sizeof *s->at, by_name);
    for (size_t i = 0; i < s->n; i++) {
        if (s->at[i].elsewhere)
            continue;
        if (s->at[i].verdict == VERDICT_NO && !why)
            why = s->at[i].why;
        refused += s->at[i].verdict == VERDICT_NO;
        stack = s->at[i].stack > stack ? s->at[i].stack : stack;
        if (s->at[i].verdict != VERDICT_NO && !(kept && by_name(&s->at[kept - 1], &s->at[i]) == 0))
            s->at[kept++] = s->at[i];
    }
    s->n = kept;
    if (stack && !*t->stack)
        (void)snprintf(t->stack, sizeof t->stack, ",stack=%u", (unsigned)stack);
    if (kept && refused)
        complain("%s: %zu more functions of that name cannot be hooked; see: giveback symbols FILE '%s'", t->symbol, refused, t->symbol);
    return kept ? NULL : why;
}

/* What all names begin and end with, without an overlap in the shortest; true: they are equally long. */
static bool in_common(const struct symbols *s, size_t *begin, size_t *end)
{
    const char *first = s->at[0].name;
    size_t n = strlen(first), shortest = n;
    bool equal = true;

    *begin = *end = n;
    for (size_t i = 1; i < s->n; i++) {
        const char *name = s->at[i].name;
        size_t m = strlen(name), same = 0;
        equal &= m == n;
        shortest = m < shortest ? m : shortest;
        while (same < *begin && name[same] == first[same])
            same++;
        *begin = same;
        for (same = 0; same < *end && same < m && name[m - 1 - same] == first[n - 1 - same];)
            same++;
        *end = same;
    }
    if (*end > shortest - *begin)
        *end = shortest - *begin;
    return equal;
}

/* One pattern for all of the names: a set where they differ, if they are equally long, else what they begin and end with; if that
 * is still more than an event can hold, less of both. */
static char *glob_of(const struct symbols *s, size_t room)
{
    const char *first = s->at[0].name;
    size_t begin, end, size, n = strlen(first);
    bool sets = in_common(s, &begin, &end);
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t at = 0; sets && at < n; at++) {
        bool same = true;
        for (size_t i = 1; i < s->n; i++)
            same &= s->at[i].name[at] == first[at];
        for (size_t i = 0; !same && i < s->n; i++)
            (void)fprintf(out, "%s%c%s", i ? "" : "[", s->at[i].name[at], i + 1 < s->n ? "" : "]");
        if (same)
            (void)fputc(first[at], out);
    }
    (void)fflush(out);
    if (!sets || size > room) {
        end = end > room / 3 ? room / 3 : end;
        begin = begin > room - end - 1 ? room - end - 1 : begin;
        rewind(out);
        (void)fprintf(out, "%.*s*%s", (int)begin, first, first + n - end);
        (void)fputc('\0', out);
    }
    return fclose(out) == 0 ? text : NULL;
}

/* Does the pattern mean these functions and no others? */
static bool glob_is_exact(struct looking *l, const char *program, char *glob)
{
    l->globs = &glob;
    l->foreign = false;
    return everywhere(l, program, count_in) == 0 && !l->foreign;
}

static const char *object_of(const struct looking *l)
{
    return strchr(l->target->object, '/') ? l->object : l->target->object;
}

/* `item` with each of the names in the place of its argument, which is n bytes at `at`. */
static void write_items(FILE *out, const struct looking *l, const char *item, size_t length, const char *at, size_t n, char *const *names,
                        size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        const char *object = object_of(l);
        char *whole = NULL, *quoted;
        if (asprintf(&whole, "%s%s%s%s", object, *object ? ":" : "", names[i], l->target->stack) < 0)
            return;
        quoted = symbols_quote(whole);
        (void)fprintf(out, "%s%.*s%s%.*s", i ? ";" : "", (int)(at - item), item, quoted ? quoted : "", (int)(item + length - (at + n)), at + n);
        free(whole);
        free(quoted);
    }
}

/* Looks for the target; complains when it cannot be turned. */
static int look(struct looking *l, struct target *t, const char *program)
{
    l->found.patterns = (char *const *)&l->target->symbol;
    l->found.n_patterns = 1;
    if (everywhere(l, program, look_in) != 0)
        return -1;
    const char *why = keep_hookable(l, t);
    if (why)
        complain("%s cannot be hooked: %s; see: giveback symbols", l->target->symbol, why);
    else if (!l->seen)
        complain("%s: no such object %s; name its file in its place, or the function as `giveback symbols FILE '%s'` shows it",
                 l->target->object, strchr(l->target->object, '/') ? "that can be read" : "is loaded with the program", l->target->symbol);
    else if (!l->found.n)
        complain("%s: no such function in %s; see: giveback symbols FILE '*PART OF THE NAME*'", l->target->symbol,
                 *l->target->object ? l->target->object : "the program and its libraries");
    return l->found.n ? 0 : -1;
}

/* The item with what its target is called in symbol tables: one name, or a pattern, or as many items as there are names. */
static int turn_item(FILE *out, const char *item, size_t length, const char *at, size_t n, struct target *t, const char *program)
{
    struct looking l = {.target = t};
    size_t room;

    if (look(&l, t, program) != 0)
        return -1;
    room = EVENT_ARGUMENT_MAX - 2 - strlen(object_of(&l)) - strlen(t->stack);
    char *one = NULL;
    bool exact = !target_is_demangled(t) || (l.found.n == 1 && strlen(l.found.at[0].name) < room);
    if (exact)
        one = strdup(target_is_demangled(t) ? l.found.at[0].name : t->symbol);
    else
        one = glob_of(&l.found, room);
    if (one && (exact || glob_is_exact(&l, program, one))) {
        write_items(out, &l, item, length, at, n, &one, 1);
    } else {
        char **names = calloc(l.found.n, sizeof *names);
        for (size_t i = 0; names && i < l.found.n; i++)
            names[i] = (char *)(uintptr_t)l.found.at[i].name;
        if (names)
            write_items(out, &l, item, length, at, n, names, l.found.n);
        free(names);
    }
    free(one);
    free(l.found.at);
    free(l.object);
    return 0;
}

char *target_turn(const char *value, const char *program)
{
    struct event_piece item, argument;
    enum event_kind kind;
    char *text = NULL;
    const char *more = "", *whole = value;
    bool turned = false;
    struct target t;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int error = 0;

    while (out && !error && event_next(&value, &item, &kind, &argument, t.text, sizeof t.text)) {
        (void)fputs(more, out);
        more = ";";
        bool native = (kind == EVENT_EXIT || kind == EVENT_ENTER) && strncmp(t.text, "py:", 3) != 0;
        if (native)
            target_split(&t);
        turned |= native && target_is_ours(&t);
        if (native && target_is_ours(&t))
            error = turn_item(out, item.at, item.n, argument.at, argument.n, &t, program);
        else
            (void)fprintf(out, "%.*s", (int)item.n, item.at);
    }
    if (!out || fclose(out) != 0)
        complain("out of memory");
    else if (!error && turned)
        return text;
    free(text);
    return error ? NULL : strdup(whole);
}
