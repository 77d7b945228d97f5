/* symbols: functions that `exit:` and `enter:` could name, as a list that is searched for, sorted and shown. */
#ifndef GIVEBACK_SYMBOLS_H
#define GIVEBACK_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elfobject.h"

/* Everything that is pointed to lives as long as the tool. */
struct symbol {
    const char *object; /* as OBJECT in a target; of Python: the module */
    const char *path;
    const char *name;      /* as symbol tables have it; of Python: the qualified name */
    const char *demangled; /* NULL: the name is none of C++ or Rust */
    uint64_t value;        /* of Python: the line */
    uint64_t size;         /* bytes; of Python: lines */
    unsigned type;         /* STT_FUNC, ... */
    bool elsewhere;        /* only called from here */
    enum verdict verdict;
    const char *why;
    uint64_t stack; /* bytes of arguments on the stack, where they are known to be more than are passed through; 0: not */
};

struct symbols {
    struct symbol *at;
    size_t n, room;
    char *const *patterns; /* none: everything that could be hooked */
    size_t n_patterns;
    bool hookable; /* only what can be */
    bool exhausted; /* memory */
};

/* Does one of the patterns mean this? `other` (NULL: none) is a second name of it. With no pattern everything does. Then
 * *exactly says whether one is the name itself, without being a pattern of several. */
bool symbols_match(const struct symbols *s, const char *name, const char *other, const char *bare, bool *exactly);
void symbols_add(struct symbols *s, const struct symbol *symbol);
/* The matching ones of an object, which the list closes. */
void symbols_add_object(struct symbols *s, struct elfobject *o);
/* A part of an event as it is to be written, in quotes where it needs them; to be freed, NULL: out of memory. */
char *symbols_quote(const char *s);
/* What is to stand behind "exit:" to name it, to be freed; NULL: out of memory. */
char *symbols_target(const struct symbol *symbol);

/* symbols_python.c: those of a file, of a folder or of a module's name. 0, or -1 after a complaint. */
int symbols_add_python(struct symbols *s, const char *what);

#endif
