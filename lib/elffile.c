#include "elffile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "text.h"

enum {
    ELFFILE_HITS = 64,     /* names found in one .strtab; the largest known object has 12 */
    ELFFILE_TAIL = 128,    /* of a name that is longer than the buffer, this much is looked at */
    ELFFILE_SECTIONS = 4096,
    ELFFILE_SEGMENTS = 128,
    ELFFILE_NOTES = 1024 /* bytes of one note segment; Debian's have 36 to 128 */
};

/* One name that was found in .strtab: any symbol whose st_name lies from `first` to `last` has a name that ends in
 * names[name]. Several symbols may share the bytes of one string (the linker merges tails). */
struct elffile_hit {
    uint64_t first, last;
    long name;
    char prefix[ELFFILE_PREFIX_MAX + 1];
};

static int elffile_exactly(const struct elffile *f, void *buffer, size_t n, uint64_t offset)
{
    long got = f->read(f->context, buffer, n, offset);

    if (got < 0)
        return (int)got;
    return (size_t)got == n ? 0 : -ENOEXEC;
}

size_t elffile_note_id(const void *notes, size_t size, size_t align, unsigned char id[ELFFILE_ID_MAX])
{
    size_t at = 0, to = align == 8 ? 8 : 4;

    while (size - at >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) n;
        memcpy(&n, (const char *)notes + at, sizeof n);
        at += sizeof n;
        if (n.n_namesz > size - at)
            return 0;
        size_t name = at;
        at = (at + n.n_namesz + to - 1) & ~(to - 1);
        if (at > size || n.n_descsz > size - at)
            return 0;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && memcmp((const char *)notes + name, "GNU", 4) == 0) {
            if (!n.n_descsz || n.n_descsz > ELFFILE_ID_MAX)
                return 0;
            memcpy(id, (const char *)notes + at, n.n_descsz);
            return n.n_descsz;
        }
        at = (at + n.n_descsz + to - 1) & ~(to - 1);
        if (at > size)
            return 0;
    }
    return 0;
}

int elffile_debug_path(const unsigned char *id, size_t size, char path[ELFFILE_DEBUG_MAX])
{
    static const char digits[] = "0123456789abcdef";
    struct text t;

    if (size < 2 || size > ELFFILE_ID_MAX)
        return -ENOENT;
    text_init(&t, path, ELFFILE_DEBUG_MAX);
    text_str(&t, "/usr/lib/debug/.build-id/");
    for (size_t i = 0; i < size; i++) {
        text_char(&t, digits[id[i] >> 4]);
        text_char(&t, digits[id[i] & 15]);
        if (i == 0)
            text_char(&t, '/');
    }
    text_str(&t, ".debug");
    return 0;
}

/* The i-th entry of the program header table. */
static int elffile_segment(const struct elffile *f, unsigned i, ElfW(Phdr) *p)
{
    return elffile_exactly(f, p, sizeof *p, f->header.e_phoff + (uint64_t)i * sizeof *p);
}

static int elffile_read_id(struct elffile *f)
{
    unsigned char notes[ELFFILE_NOTES];

    for (unsigned i = 0; i < f->header.e_phnum && !f->id_size; i++) {
        ElfW(Phdr) p;
        int error = elffile_segment(f, i, &p);
        if (error)
            return error;
        if (p.p_type != PT_NOTE || p.p_filesz > sizeof notes)
            continue;
        error = elffile_exactly(f, notes, p.p_filesz, p.p_offset);
        if (error)
            return error;
        f->id_size = elffile_note_id(notes, p.p_filesz, p.p_align, f->id);
    }
    return 0;
}

static int elffile_read_sections(struct elffile *f)
{
    for (unsigned i = 0; i < f->header.e_shnum; i++) {
        ElfW(Shdr) s, strings;
        int error = elffile_exactly(f, &s, sizeof s, f->header.e_shoff + (uint64_t)i * sizeof s);
        if (error)
            return error;
        if (s.sh_type != SHT_SYMTAB)
            continue;
        if (s.sh_entsize != sizeof(ElfW(Sym)) || s.sh_link >= f->header.e_shnum)
            return -ENOEXEC;
        error = elffile_exactly(f, &strings, sizeof strings, f->header.e_shoff + (uint64_t)s.sh_link * sizeof s);
        if (error)
            return error;
        if (strings.sh_type != SHT_STRTAB)
            return -ENOEXEC;
        f->symtab = s.sh_offset;
        f->symtab_size = s.sh_size;
        f->strtab = strings.sh_offset;
        f->strtab_size = strings.sh_size;
        return 0;
    }
    return 0;
}

int elffile_open(struct elffile *f, elffile_read read, void *context)
{
    memset(f, 0, sizeof *f);
    f->read = read;
    f->context = context;
    int error = elffile_exactly(f, &f->header, sizeof f->header, 0);
    if (error)
        return error;
#if defined __x86_64__
    const unsigned machine = EM_X86_64;
#else
    const unsigned machine = EM_AARCH64;
#endif
    const ElfW(Ehdr) *h = &f->header;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != machine || (h->e_type != ET_DYN && h->e_type != ET_EXEC))
        return -ENOEXEC;
    if (h->e_phnum > ELFFILE_SEGMENTS || (h->e_phnum && h->e_phentsize != sizeof(ElfW(Phdr))))
        return -ENOEXEC;
    if (h->e_shnum > ELFFILE_SECTIONS || (h->e_shnum && h->e_shentsize != sizeof(ElfW(Shdr))))
        return -ENOEXEC;
    error = elffile_read_id(f);
    return error ? error : elffile_read_sections(f);
}

static bool elffile_prefix_fits(const char *prefix, size_t n)
{
    if (n > ELFFILE_PREFIX_MAX)
        return false;
    /* Mangled C++ and Rust names can end in the same letters (..._7mallctl) and are other functions. */
    if (n >= 2 && prefix[0] == '_' && (prefix[1] == 'Z' || prefix[1] == 'R'))
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = prefix[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return true;
}

/* The name that these bytes end in, -1: none; the longest where several do. */
static long elffile_suffix(const char *s, size_t length, const char *const *names, size_t n_names)
{
    long best = -1;
    size_t longest = 0;

    for (size_t i = 0; i < n_names; i++) {
        size_t n = strlen(names[i]);
        /* The last letter first: it turns most of the several 100,000 names of a large object away. */
        if (n > length || n <= longest || s[length - 1] != names[i][n - 1])
            continue;
        if (memcmp(s + length - n, names[i], n) == 0) {
            best = (long)i;
            longest = n;
        }
    }
    return best;
}

long elffile_name_match(const char *name, size_t length, const char *const *names, size_t n_names)
{
    long i = elffile_suffix(name, length, names, n_names);

    return i >= 0 && elffile_prefix_fits(name, length - strlen(names[i])) ? i : -1;
}

struct elffile_hits {
    struct elffile_hit hit[ELFFILE_HITS];
    size_t n;
};

/* A string of .strtab that ends at offset `end`; its last `length` bytes are here. What stands before the name is kept as
 * it is: the string as a whole may be a mangled name, and a plain one may be its tail. */
static void elffile_string(struct elffile_hits *hits, const char *s, size_t length, uint64_t end,
                           const char *const *names, size_t n_names)
{
    if (!length || hits->n == ELFFILE_HITS)
        return;
    long name = elffile_suffix(s, length, names, n_names);
    if (name < 0)
        return;
    struct elffile_hit *h = &hits->hit[hits->n++];
    size_t n = strlen(names[name]), prefix = length - n;
    if (prefix > ELFFILE_PREFIX_MAX)
        prefix = ELFFILE_PREFIX_MAX;
    h->last = end - n;
    h->first = h->last - prefix;
    h->name = name;
    memcpy(h->prefix, s + length - n - prefix, prefix);
    h->prefix[prefix] = '\0';
}

static int elffile_read_strings(const struct elffile *f, const char *const *names, size_t n_names, char *buffer,
                                size_t size, struct elffile_hits *hits)
{
    uint64_t at = 0; /* offset in .strtab of the first byte in the buffer */
    size_t kept = 0; /* bytes of a string that is not yet complete, in the buffer already */

    while (at + kept < f->strtab_size) {
        uint64_t left = f->strtab_size - at - kept;
        size_t n = left < size - kept ? (size_t)left : size - kept;
        int error = elffile_exactly(f, buffer + kept, n, f->strtab + at + kept);
        if (error)
            return error;
        const char *s = buffer, *end = buffer + kept + n, *nul;
        while ((nul = memchr(s, '\0', (size_t)(end - s)))) {
            elffile_string(hits, s, (size_t)(nul - s), at + (uint64_t)(nul - buffer), names, n_names);
            s = nul + 1;
        }
        at += (uint64_t)(s - buffer);
        kept = (size_t)(end - s);
        if (kept > size - ELFFILE_TAIL) { /* a name as long as the buffer: its end is what matters */
            at += kept - ELFFILE_TAIL;
            s = end - ELFFILE_TAIL;
            kept = ELFFILE_TAIL;
        }
        memmove(buffer, s, kept);
    }
    return 0;
}

/* The symbol's own name may begin inside the string (a merged tail): its prefix is shorter then. */
static void elffile_symbol_seen(const ElfW(Sym) *y, const struct elffile_hits *hits, elffile_visit visit, void *context)
{
    unsigned type = ELF64_ST_TYPE(y->st_info);

    if (y->st_shndx == SHN_UNDEF || y->st_shndx >= SHN_LORESERVE || !y->st_value ||
        (type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC))
        return;
    for (size_t i = 0; i < hits->n; i++) {
        const struct elffile_hit *h = &hits->hit[i];
        if (y->st_name < h->first || y->st_name > h->last)
            continue;
        if (!elffile_prefix_fits(h->prefix + (y->st_name - h->first), (size_t)(h->last - y->st_name)))
            continue;
        struct elffile_symbol found = {.name = (size_t)h->name, .value = y->st_value, .size = y->st_size, .type = type};
        memcpy(found.prefix, h->prefix + (y->st_name - h->first), (size_t)(h->last - y->st_name) + 1);
        visit(context, &found);
        return;
    }
}

int elffile_search(const struct elffile *f, const char *const *names, size_t n_names, void *buffer, size_t size,
                   elffile_visit visit, void *context)
{
    struct elffile_hits hits = {.n = 0};

    if (size < ELFFILE_BUFFER)
        return -EINVAL;
    int error = elffile_read_strings(f, names, n_names, buffer, size, &hits);
    if (error || !hits.n)
        return error;
    size_t batch = size / sizeof(ElfW(Sym));
    uint64_t count = f->symtab_size / sizeof(ElfW(Sym));
    for (uint64_t i = 0; i < count; i += batch) {
        size_t n = count - i < batch ? (size_t)(count - i) : batch;
        error = elffile_exactly(f, buffer, n * sizeof(ElfW(Sym)), f->symtab + i * sizeof(ElfW(Sym)));
        if (error)
            return error;
        for (size_t k = 0; k < n; k++)
            elffile_symbol_seen((const ElfW(Sym) *)buffer + k, &hits, visit, context);
    }
    return 0;
}

int64_t elffile_offset(const struct elffile *f, uint64_t address)
{
    for (unsigned i = 0; i < f->header.e_phnum; i++) {
        ElfW(Phdr) p;
        if (elffile_segment(f, i, &p))
            return -1;
        if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
            return (int64_t)(p.p_offset + (address - p.p_vaddr));
    }
    return -1;
}
