/* elffile: the symbols that only the file of an object has (.symtab), which ld.so never maps.
 *
 * Pure: no malloc, no stdio, no globals; the file is seen through a function of the caller's and is never held in memory
 * as a whole, since .symtab and .strtab of a large extension module are tens of MB. (Mapping the file would be simpler, but
 * a file that is truncated while it is mapped kills the process by SIGBUS, and the process is not ours.)
 * Every offset and size in the file is checked: a damaged file gives -ENOEXEC, never a read out of bounds. */
#ifndef GIVEBACK_ELFFILE_H
#define GIVEBACK_ELFFILE_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#define ELFFILE_ID_MAX 32     /* longest build-id that is kept; the linkers make 8, 16 and 20 bytes */
#define ELFFILE_PREFIX_MAX 40 /* longest prefix of a name that is looked for, e.g. je_arrow_private_je_ */

/* Bytes read at that offset (fewer only at the end of the file), or -errno. */
typedef long (*elffile_read)(void *context, void *buffer, size_t n, uint64_t offset);

struct elffile {
    elffile_read read;
    void *context;
    ElfW(Ehdr) header;
    unsigned char id[ELFFILE_ID_MAX]; /* build-id */
    size_t id_size;                   /* 0: the file has none */
    uint64_t symtab, symtab_size;     /* size 0: stripped */
    uint64_t strtab, strtab_size;
};

/* 0; -ENOEXEC when it is no ELF file of this machine's kind or is damaged; what `read` said. */
int elffile_open(struct elffile *f, elffile_read read, void *context);

struct elffile_symbol {
    size_t name;                         /* index into the names that were looked for */
    char prefix[ELFFILE_PREFIX_MAX + 1]; /* what stands before it in the symbol's name */
    uint64_t value, size;
    unsigned type; /* STT_FUNC, STT_OBJECT, STT_GNU_IFUNC; others are not reported */
};
typedef void (*elffile_visit)(void *context, const struct elffile_symbol *symbol);

/* Every defined symbol whose name ends in one of `names`, whatever stands before it (up to ELFFILE_PREFIX_MAX bytes of
 * [A-Za-z0-9_], no mangled name). `buffer` is working space of at least ELFFILE_BUFFER bytes, aligned for a symbol.
 * .strtab is read once; .symtab only when a name was there. 0 or -errno. */
#define ELFFILE_BUFFER 4096
int elffile_search(const struct elffile *f, const char *const *names, size_t n_names, void *buffer, size_t size,
                   elffile_visit visit, void *context);

/* Which of `names` the `length` bytes at `name` end in, with an acceptable prefix: its index, -1: none. The same rule
 * as elffile_search's, for names that stand in memory. */
long elffile_name_match(const char *name, size_t length, const char *const *names, size_t n_names);

/* The build-id in the notes of a segment or section: its size, 0: none. `align` as the program header has it. */
size_t elffile_note_id(const void *notes, size_t size, size_t align, unsigned char id[ELFFILE_ID_MAX]);

/* Where the distributions put what was stripped from an object with that build-id. 0, or -ENOENT: it has none. */
#define ELFFILE_DEBUG_MAX 128
int elffile_debug_path(const unsigned char *id, size_t size, char path[ELFFILE_DEBUG_MAX]);

/* Where in the file the bytes at this address of the object are: offset, or -1 when no segment holds them. */
int64_t elffile_offset(const struct elffile *f, uint64_t address);

#endif
