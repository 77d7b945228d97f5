#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "hookable.h"
#include "object.h"
#include "sys.h"

enum { OBJECT_CODE = 64 };

static uint64_t object_hash(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void object_base_name(char name[OBJECT_NAME_MAX], const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);

    if (n >= OBJECT_NAME_MAX)
        n = OBJECT_NAME_MAX - 1;
    memcpy(name, base, n);
    name[n] = '\0';
}

/* ld.so has no name for the main program. */
static void object_name_main(struct object *o)
{
    char target[OBJECT_PATH_MAX];
    long n = sys4(SYS_readlinkat, -100 /* AT_FDCWD */, "/proc/self/exe", target, sizeof target - 1);
    static const char deleted[] = " (deleted)";

    memcpy(o->path, "/proc/self/exe", sizeof "/proc/self/exe");
    target[n > 0 ? n : 0] = '\0';
    if (n >= (long)sizeof deleted && memcmp(target + n - (sizeof deleted - 1), deleted, sizeof deleted - 1) == 0)
        target[n - (long)(sizeof deleted - 1)] = '\0';
    object_base_name(o->name, n > 0 ? target : "main program");
}

/* Not every note of a file is mapped (a tool may have appended one). */
static bool object_is_mapped(const struct object *o, const ElfW(Phdr) *part)
{
    for (size_t k = 0; k < o->n_segments; k++) {
        const ElfW(Phdr) *p = &o->segments[k];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && part->p_vaddr >= p->p_vaddr &&
            part->p_vaddr - p->p_vaddr <= p->p_memsz && part->p_memsz <= p->p_memsz - (part->p_vaddr - p->p_vaddr))
            return true;
    }
    return false;
}

void object_fill(struct object *o, const struct dl_phdr_info *i, size_t position)
{
    const ElfW(Dyn) *dynamic = NULL;

    o->bias = i->dlpi_addr;
    o->segments = i->dlpi_phdr;
    o->n_segments = i->dlpi_phnum;
    o->resident = false;
    o->id_size = 0;
    for (size_t k = 0; k < o->n_segments; k++) {
        const ElfW(Phdr) *p = &o->segments[k];
        if (p->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(o->bias + p->p_vaddr);
        else if (p->p_type == PT_NOTE && !o->id_size && object_is_mapped(o, p))
            o->id_size = elffile_note_id((const void *)(o->bias + p->p_vaddr), p->p_memsz, p->p_align, o->id);
    }
    const char *path = i->dlpi_name ? i->dlpi_name : "";
    if (position == 0) {
        object_name_main(o);
    } else {
        size_t n = strlen(path);
        memcpy(o->path, n < sizeof o->path ? path : "", n < sizeof o->path ? n + 1 : 1);
        object_base_name(o->name, path);
    }
    o->has_symbols = dynamic && elfsym_read(&o->symbols, o->bias, dynamic) == 0;
    uint64_t h = object_hash(UINT64_C(0xcbf29ce484222325), &o->bias, sizeof o->bias);
    h = object_hash(h, &o->segments, sizeof o->segments);
    h = object_hash(h, path, strlen(path));
    o->identity = object_hash(h, o->id, o->id_size);
}

bool object_has(const struct object *o, uint64_t offset, const void *bytes, size_t n)
{
    for (size_t k = 0; k < o->n_segments; k++) {
        const ElfW(Phdr) *p = &o->segments[k];
        uint64_t from = offset - p->p_offset;
        if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && (p->p_flags & PF_R) && offset >= p->p_offset &&
            from < p->p_filesz && p->p_filesz - from >= n)
            return memcmp((const void *)(o->bias + p->p_vaddr + from), bytes, n) == 0;
    }
    return false;
}

bool object_is_code(const struct object *o, uintptr_t at, size_t size)
{
    const struct hookable_object h = {.segments = o->segments, .n_segments = o->n_segments};

    return hookable_segment(&h, at - o->bias, size) != NULL;
}

void object_extent(const struct object *o, uintptr_t *low, uintptr_t *high)
{
    *low = UINTPTR_MAX;
    *high = 0;
    for (size_t k = 0; k < o->n_segments; k++) {
        const ElfW(Phdr) *p = &o->segments[k];
        if (p->p_type != PT_LOAD)
            continue;
        if (o->bias + p->p_vaddr < *low)
            *low = o->bias + p->p_vaddr;
        if (o->bias + p->p_vaddr + p->p_memsz > *high)
            *high = o->bias + p->p_vaddr + p->p_memsz;
    }
}

static long object_file_read(void *context, void *buffer, size_t n, uint64_t offset)
{
    size_t done = 0;

    while (done < n) {
        long got = sys4(SYS_pread64, *(int *)context, (char *)buffer + done, n - done, offset + done);
        if (got == -EINTR)
            continue;
        if (got < 0)
            return got;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (long)done;
}

static bool object_file_same(const struct elffile *f, const struct object *o, int64_t offset, object_compare has)
{
    unsigned char bytes[OBJECT_CODE];

    return offset >= 0 && f->read(f->context, bytes, sizeof bytes, (uint64_t)offset) == (long)sizeof bytes &&
           has(o, (uint64_t)offset, bytes, sizeof bytes);
}

/* Equal build-ids say that it is what is mapped; where the linker made none, the ELF headers must be equal. */
static bool object_file_is_mapped(const struct elffile *f, const struct object *o, object_compare has)
{
    if (f->id_size || o->id_size)
        return f->id_size == o->id_size && memcmp(f->id, o->id, f->id_size) == 0;
    return f->header.e_phnum == o->n_segments && object_file_same(f, o, 0, has);
}

int object_file_open(struct elffile *f, const char *path, const struct object *o, object_compare has)
{
    struct stat status;
    /* O_NONBLOCK: the path may by now be a FIFO, at which open would wait */
    int fd = (int)sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0), error;

    if (fd < 0)
        return fd;
    error = (int)sys2(SYS_fstat, fd, &status);
    if (!error && !S_ISREG(status.st_mode))
        error = -ENOEXEC;
    if (!error)
        error = elffile_open(f, object_file_read, &fd);
    if (!error && !object_file_is_mapped(f, o, has))
        error = -ESTALE;
    if (!error)
        return fd;
    sys1(SYS_close, fd);
    return error;
}

bool object_file_has(const struct elffile *f, const struct object *o, uint64_t address, object_compare has)
{
    return f->id_size || object_file_same(f, o, elffile_offset(f, address), has);
}
