/* elfobject: an ELF file as the library would find it when it is loaded: its name there, its symbols, its code, and what
 * can be hooked of it. Read with libelf, which checks every offset in the file. */
#ifndef GIVEBACK_ELFOBJECT_H
#define GIVEBACK_ELFOBJECT_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hookable.h"

struct elfobject {
    char *path; /* as it is to be shown */
    char *name; /* what OBJECT in a target is compared with: its soname, else the base name */
    int fd, debug_fd;
    Elf *elf;
    Elf *debug; /* its separate debug file, found by its build-id; NULL: none */
    const unsigned char *bytes;
    size_t size;
    struct hookable_object hookable;
    bool libc;
    const char *why_never; /* the library does not get there at all */
    uint64_t low, high;    /* addresses of its segments */
    struct refused *refused; /* functions that no name may hook */
    size_t n_refused;
};

/* Takes the descriptor, also when it fails. NULL, or what is wrong with the file, as the end of a sentence. */
const char *elfobject_open(struct elfobject *o, int fd, const char *path);
/* The kernel's own (vDSO), as it is in this process. */
const char *elfobject_open_vdso(struct elfobject *o);
void elfobject_close(struct elfobject *o);

/* Every symbol that is a function, data, or a function of another object that is called from here (SHN_UNDEF), of .dynsym,
 * and of .symtab (the debug file's, when this one has none): one that stands in several tables comes several times. `name` has no version. */
typedef void (*elfobject_visit)(void *context, const char *name, const Elf64_Sym *symbol);
void elfobject_symbols(const struct elfobject *o, elfobject_visit visit, void *context);

enum verdict { VERDICT_NO, VERDICT_YES, VERDICT_LATER /* only the running program can tell */ };
/* *why is set unless it is VERDICT_YES. */
enum verdict elfobject_verdict(const struct elfobject *o, const char *name, const Elf64_Sym *symbol, const char **why);

#endif
