/* elfobject: see elfobject.h. */
#include "elfobject.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elffile.h"
#include "insn_x86_64.h"
#include "machine.h"

enum { ROOM = 2 << 20 /* of trampolines, below an object */ };

static const char *object_header(const struct elfobject *o)
{
    size_t size;
    const char *ident = elf_getident(o->elf, &size);
    const Elf64_Ehdr *header = ident && size >= EI_NIDENT && ident[EI_CLASS] == ELFCLASS64 ? elf64_getehdr(o->elf) : NULL;

    if (elf_kind(o->elf) == ELF_K_AR)
        return "is an archive; name a program or a shared library";
    if (elf_kind(o->elf) != ELF_K_ELF)
        return "is not an ELF file";
    if (!header || header->e_machine != MACHINE)
        return "is made for another type of machine; this giveback judges code for " MACHINE_NAME;
    if (header->e_type != ET_DYN && header->e_type != ET_EXEC)
        return "is neither a program nor a shared library";
    return NULL;
}

/* n bytes at an address of the object; NULL: they are not in the file. */
static const void *object_bytes(const struct elfobject *o, uint64_t address, uint64_t n)
{
    for (size_t k = 0; k < o->hookable.n_segments; k++) {
        const Elf64_Phdr *p = &o->hookable.segments[k];
        uint64_t from = address - p->p_vaddr;
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && from < p->p_filesz && n <= p->p_filesz - from &&
            p->p_offset <= o->size && from + n <= o->size - p->p_offset)
            return o->bytes + p->p_offset + from;
    }
    return NULL;
}

static const char *object_segments(struct elfobject *o)
{
    bool loader = false;

    if (elf_getphdrnum(o->elf, &o->hookable.n_segments) || !(o->hookable.segments = elf64_getphdr(o->elf)))
        return "has no segments, so that nothing of it is ever loaded";
    o->low = UINT64_MAX;
    for (size_t k = 0; k < o->hookable.n_segments; k++) {
        const Elf64_Phdr *p = &o->hookable.segments[k];
        loader |= p->p_type == PT_INTERP;
        if (p->p_type == PT_LOAD && p->p_vaddr < o->low)
            o->low = p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > o->high)
            o->high = p->p_vaddr + p->p_memsz;
        if (p->p_type == PT_DYNAMIC) {
            o->hookable.dynamic = object_bytes(o, p->p_vaddr, p->p_filesz);
            o->hookable.n_dynamic = o->hookable.dynamic ? p->p_filesz / sizeof *o->hookable.dynamic : 0;
        }
    }
    bool pie = false;
    for (size_t i = 0; i < o->hookable.n_dynamic; i++)
        pie |= o->hookable.dynamic[i].d_tag == DT_FLAGS_1 && o->hookable.dynamic[i].d_un.d_val & DF_1_PIE;
    if (!loader && (pie || elf64_getehdr(o->elf)->e_type == ET_EXEC))
        o->why_never = "it is a static program's, into which no library is preloaded";
    return NULL;
}

static const char *object_soname(const struct elfobject *o)
{
    const char *strings = NULL;
    uint64_t size = 0, soname = 0;

    for (size_t i = 0; i < o->hookable.n_dynamic && o->hookable.dynamic[i].d_tag != DT_NULL; i++) {
        const Elf64_Dyn *d = &o->hookable.dynamic[i];
        if (d->d_tag == DT_STRSZ)
            size = d->d_un.d_val;
        else if (d->d_tag == DT_SONAME)
            soname = d->d_un.d_val;
    }
    for (size_t i = 0; i < o->hookable.n_dynamic && o->hookable.dynamic[i].d_tag != DT_NULL; i++)
        if (o->hookable.dynamic[i].d_tag == DT_STRTAB)
            strings = object_bytes(o, o->hookable.dynamic[i].d_un.d_val, size);
    return strings && soname && soname < size && memchr(strings + soname, '\0', size - soname) && strings[soname] ? strings + soname : NULL;
}

/* The file that holds what was stripped from this one; Debian's -dbg and -dbgsym packages put it there. */
static void object_open_debug(struct elfobject *o)
{
    char path[ELFFILE_DEBUG_MAX];
    const void *id, *other;
    ssize_t n = dwelf_elf_gnu_build_id(o->elf, &id);

    if (n <= 0 || elffile_debug_path(id, (size_t)n, path) != 0)
        return;
    o->debug_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (o->debug_fd >= 0)
        o->debug = elf_begin(o->debug_fd, ELF_C_READ_MMAP, NULL);
    if (o->debug && (dwelf_elf_gnu_build_id(o->debug, &other) != n || memcmp(id, other, (size_t)n) != 0)) {
        elf_end(o->debug);
        o->debug = NULL;
    }
}

static void object_visit_table(Elf *elf, Elf_Scn *section, const Elf64_Shdr *header, elfobject_visit visit, void *context)
{
    Elf_Data *table = elf_getdata(section, NULL), *strings = elf_getdata(elf_getscn(elf, header->sh_link), NULL);
    const Elf64_Sym *symbols = table ? table->d_buf : NULL;

    if (!symbols || !strings || !strings->d_buf || !strings->d_size || ((const char *)strings->d_buf)[strings->d_size - 1])
        return;
    for (size_t i = 1; i < table->d_size / sizeof *symbols; i++) {
        const Elf64_Sym *y = &symbols[i];
        unsigned type = ELF64_ST_TYPE(y->st_info);
        if (y->st_name && y->st_name < strings->d_size && (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT) &&
            (y->st_shndx == SHN_UNDEF || (y->st_shndx < SHN_LORESERVE && y->st_value)))
            visit(context, (const char *)strings->d_buf + y->st_name, y);
    }
}

/* false: it has no such table. */
static bool object_visit_elf(Elf *elf, unsigned table, elfobject_visit visit, void *context)
{
    bool any = false;

    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        if (header && header->sh_type == table) {
            object_visit_table(elf, section, header, visit, context);
            any = true;
        }
    }
    return any;
}

void elfobject_symbols(const struct elfobject *o, elfobject_visit visit, void *context)
{
    (void)object_visit_elf(o->elf, SHT_DYNSYM, visit, context);
    if (!object_visit_elf(o->elf, SHT_SYMTAB, visit, context) && o->debug)
        (void)object_visit_elf(o->debug, SHT_SYMTAB, visit, context);
}

struct refused {
    uint64_t at;
    const char *why;
};

static void object_note_kind(void *context, const char *name, const Elf64_Sym *symbol)
{
    struct elfobject *o = context;

    o->hookable.linker |= symbol->st_shndx != SHN_UNDEF && strcmp(name, HOOKABLE_LINKER) == 0;
    o->libc |= symbol->st_shndx != SHN_UNDEF && strcmp(name, HOOKABLE_LIBC) == 0;
}

static void object_note(void *context, const char *name, const Elf64_Sym *symbol)
{
    struct elfobject *o = context;
    struct hookable_walk walk = {0, NULL};
    char refused[HOOKABLE_NAME_MAX];
    const char *why;

    if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || strlen(name) >= sizeof refused)
        return;
    while (hookable_name(name, o->libc) && hookable_refused(&walk, o->libc, refused, &why)) {
        if (strcmp(refused, name) != 0)
            continue;
        struct refused *more = realloc(o->refused, (o->n_refused + 1) * sizeof *more);
        if (more) {
            o->refused = more;
            more[o->n_refused++] = (struct refused){symbol->st_value, why};
        }
        return;
    }
}

static const char *object_read(struct elfobject *o)
{
    const char *wrong = object_header(o), *soname;
    const char *slash = strrchr(o->path, '/');

    if (wrong)
        return wrong;
    o->bytes = (const unsigned char *)elf_rawfile(o->elf, &o->size);
    if (!o->bytes)
        return "cannot be read";
    wrong = object_segments(o);
    if (wrong)
        return wrong;
    soname = object_soname(o);
    o->name = strdup(soname ? soname : slash ? slash + 1 : o->path);
    o->hookable.own = soname && strcmp(soname, "libgiveback.so") == 0;
    (void)object_visit_elf(o->elf, SHT_DYNSYM, object_note_kind, o);
    (void)object_visit_elf(o->elf, SHT_DYNSYM, object_note, o);
    return o->name ? NULL : "needs more memory than there is";
}

const char *elfobject_open(struct elfobject *o, int fd, const char *path)
{
    struct stat status;
    const char *wrong = NULL;

    memset(o, 0, sizeof *o);
    o->fd = fd;
    o->debug_fd = -1;
    o->path = strdup(path);
    (void)elf_version(EV_CURRENT);
    if (!o->path)
        wrong = "needs more memory than there is";
    else if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
        wrong = "is not a file";
    else if (!(o->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL)))
        wrong = "cannot be read";
    if (!wrong)
        wrong = object_read(o);
    if (wrong)
        elfobject_close(o);
    else
        object_open_debug(o);
    return wrong;
}

const char *elfobject_open_vdso(struct elfobject *o)
{
    char *at = (char *)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(void *)at;
    const char *wrong;

    memset(o, 0, sizeof *o);
    o->fd = o->debug_fd = -1;
    (void)elf_version(EV_CURRENT);
    if (!at)
        return "is not there";
    o->path = strdup("[vdso]");
    o->elf = elf_memory(at, header->e_shoff + (size_t)header->e_shnum * header->e_shentsize);
    wrong = o->path && o->elf ? object_read(o) : "cannot be read";
    o->hookable.vdso = true;
    if (wrong)
        elfobject_close(o);
    return wrong;
}

void elfobject_close(struct elfobject *o)
{
    free(o->path);
    free(o->name);
    free(o->refused);
    if (o->debug)
        elf_end(o->debug);
    if (o->elf)
        elf_end(o->elf);
    if (o->debug_fd >= 0)
        (void)close(o->debug_fd);
    if (o->fd >= 0)
        (void)close(o->fd);
}

static const char *object_judge_code(const struct elfobject *o, const Elf64_Sym *y, struct hookable_range *range)
{
    const Elf64_Phdr *segment = hookable_segment(&o->hookable, y->st_value, y->st_size);
    const void *bytes = object_bytes(o, segment->p_vaddr, segment->p_filesz);

    if (o->high - o->low > INSN_REACH - ROOM)
        return "there is no room for a trampoline within 2 GiB of it";
    return bytes ? hookable_code(segment, bytes, y->st_value, y->st_size, range) : "its file is cut off";
}

enum verdict elfobject_verdict(const struct elfobject *o, const char *name, const Elf64_Sym *y, const char **why)
{
    struct hookable_range range = {0};

    *why = o->why_never;
    if (!*why && y->st_shndx == SHN_UNDEF)
        *why = ELF64_ST_TYPE(y->st_info) == STT_OBJECT ? "it is data" : "it is only called from here (PLT); name it in the object that has it";
    if (!*why)
        *why = hookable_name(name, o->libc);
    for (size_t i = 0; !*why && i < o->n_refused; i++)
        if (o->refused[i].at == y->st_value)
            *why = o->refused[i].why;
    if (!*why)
        *why = hookable_type(ELF64_ST_TYPE(y->st_info));
    if (!*why)
        *why = hookable_object(&o->hookable);
    if (!*why && ELF64_ST_TYPE(y->st_info) == STT_GNU_IFUNC) {
        *why = "which function it is is chosen when it is loaded (IFUNC)";
        return VERDICT_LATER;
    }
    if (!*why)
        *why = hookable_place(&o->hookable, y->st_value, y->st_size);
    if (!*why)
        *why = object_judge_code(o, y, &range);
    if (!*why && range.not_far) {
        *why = "only where there is room for a trampoline within " HOOKABLE_NEAR " of it";
        return VERDICT_LATER;
    }
    return *why ? VERDICT_NO : VERDICT_YES;
}
