#include "elffile.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is looked for in the file of this very program: functions that only .symtab has, some of them local. */
__attribute__((used, noinline)) int unit_probe(void);
__attribute__((used, noinline)) int je_arrow_private_unit_probe(void);
__attribute__((used, noinline)) int _ZN4unit10unit_probe(void);
__attribute__((used, noinline)) int unit_probe_not_at_the_end(void);

int unit_probe(void)
{
    return 1;
}
int je_arrow_private_unit_probe(void)
{
    return 2;
}
int _ZN4unit10unit_probe(void)
{
    return 3;
}
int unit_probe_not_at_the_end(void)
{
    return 4;
}
__attribute__((used, noinline)) static int local_unit_probe(void)
{
    return 5;
}

static const char *const names[] = {"no_such_name", "unit_probe", "nit_probe", "unit_variable"};
#define NAMES (sizeof names / sizeof *names)

__attribute__((used)) static int my_unit_variable = 7;

/* The program's file, of which a reader may see only the beginning. */
struct file {
    char *data;
    size_t n;
};

static struct file file_of_self(void)
{
    struct stat status;
    struct file file;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &status), 0);
    file.n = (size_t)status.st_size;
    file.data = malloc(file.n);
    ck_assert_ptr_nonnull(file.data);
    ck_assert_int_eq(read(fd, file.data, file.n), (ssize_t)file.n);
    (void)close(fd);
    return file;
}

static long read_file(void *context, void *buffer, size_t n, uint64_t offset)
{
    const struct file *file = context;

    if (offset >= file->n)
        return 0;
    if (n > file->n - offset)
        n = file->n - (size_t)offset;
    memcpy(buffer, file->data + offset, n);
    return (long)n;
}

static long read_error(void *context, void *buffer, size_t n, uint64_t offset)
{
    (void)context, (void)buffer, (void)n, (void)offset;
    return -EIO;
}

struct seen {
    struct elffile_symbol symbol[8];
    size_t n;
};

static void see(void *context, const struct elffile_symbol *symbol)
{
    struct seen *seen = context;

    ck_assert_uint_lt(seen->n, 8);
    seen->symbol[seen->n++] = *symbol;
}

/* This object as ld.so has it: the difference between addresses in memory and in the file, and the build-id. */
struct loaded {
    uintptr_t bias;
    unsigned char id[ELFFILE_ID_MAX];
    size_t id_size;
};

static int first_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct loaded *loaded = context;

    (void)size;
    loaded->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum && !loaded->id_size; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            loaded->id_size =
                elffile_note_id((const void *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, p->p_align, loaded->id);
    }
    return 1;
}

static const struct elffile_symbol *find(const struct seen *seen, const char *prefix)
{
    for (size_t i = 0; i < seen->n; i++)
        if (strcmp(seen->symbol[i].prefix, prefix) == 0)
            return &seen->symbol[i];
    return NULL;
}

START_TEST(symbols_of_the_file_are_found_with_their_prefixes)
{
    static const struct {
        const char *prefix;
        size_t name;
        const void *at;
        unsigned type;
    } wanted[] = {{"", 1, unit_probe, STT_FUNC},
                  {"je_arrow_private_", 1, je_arrow_private_unit_probe, STT_FUNC},
                  {"local_", 1, local_unit_probe, STT_FUNC},
                  {"my_", 3, &my_unit_variable, STT_OBJECT}};
    _Alignas(ElfW(Sym)) static char buffer[ELFFILE_BUFFER];
    struct file self = file_of_self();
    struct loaded loaded = {0};
    struct elffile f;
    struct seen seen = {.n = 0};

    dl_iterate_phdr(first_object, &loaded);
    ck_assert_int_eq(elffile_open(&f, read_file, &self), 0);
    ck_assert_int_eq(elffile_search(&f, names, NAMES, buffer, sizeof buffer, see, &seen), 0);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct elffile_symbol *s = find(&seen, wanted[i].prefix);
        ck_assert_msg(s != NULL, "%s is not found", wanted[i].prefix);
        ck_assert_uint_eq(s->name, wanted[i].name);
        ck_assert_uint_eq(s->type, wanted[i].type);
        ck_assert_uint_eq(loaded.bias + s->value, (uintptr_t)wanted[i].at);
        int64_t offset = elffile_offset(&f, s->value);
        ck_assert_int_gt(offset, 0);
        ck_assert_int_eq(memcmp(self.data + offset, wanted[i].at, s->size), 0);
    }
    ck_assert_uint_eq(seen.n, sizeof wanted / sizeof *wanted); /* no mangled name, none that only contains it */
    ck_assert_int_eq(elffile_offset(&f, UINT64_MAX), -1);
    ck_assert_int_eq(elffile_search(&f, names, NAMES, buffer, ELFFILE_BUFFER - 1, see, &seen), -EINVAL);
    free(self.data);
}
END_TEST

START_TEST(the_build_id_is_that_of_memory)
{
    struct file self = file_of_self();
    struct loaded loaded = {0};
    struct elffile f;

    dl_iterate_phdr(first_object, &loaded);
    ck_assert_int_eq(elffile_open(&f, read_file, &self), 0);
    ck_assert_uint_ge(f.id_size, 8);
    ck_assert_uint_eq(f.id_size, loaded.id_size);
    ck_assert_int_eq(memcmp(f.id, loaded.id, f.id_size), 0);
    free(self.data);
}
END_TEST

/* A file that is cut off is refused where what it should say is missing; it never gives a symbol that is not there. */
START_TEST(a_file_cut_off_gives_true_symbols_or_an_error)
{
    _Alignas(ElfW(Sym)) static char buffer[ELFFILE_BUFFER];
    struct file self = file_of_self(), cut = self;
    unsigned refused = 0;

    for (cut.n = 0; cut.n < self.n; cut.n += cut.n < 4096 ? 1 : 499) {
        struct seen seen = {.n = 0};
        struct elffile f;
        int error = elffile_open(&f, read_file, &cut);
        if (!error)
            error = elffile_search(&f, names, NAMES, buffer, sizeof buffer, see, &seen);
        ck_assert_msg(error == 0 || error == -ENOEXEC, "%d when cut at %zu", error, cut.n);
        refused += error != 0;
        ck_assert_uint_le(seen.n, 4);
    }
    ck_assert_uint_gt(refused, 4096);
    free(self.data);
}
END_TEST

START_TEST(what_is_no_file_of_ours_is_refused)
{
    static const struct {
        size_t at;
        char value;
    } changes[] = {{EI_MAG0, 0},
                   {EI_CLASS, ELFCLASS32},
                   {EI_DATA, ELFDATA2MSB},
                   {offsetof(ElfW(Ehdr), e_machine), EM_386},
                   {offsetof(ElfW(Ehdr), e_type), ET_REL},
                   {offsetof(ElfW(Ehdr), e_phentsize), 1},
                   {offsetof(ElfW(Ehdr), e_shentsize), 1}};
    struct file self = file_of_self();
    struct elffile f;

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char kept = self.data[changes[i].at];
        self.data[changes[i].at] = changes[i].value;
        ck_assert_msg(elffile_open(&f, read_file, &self) == -ENOEXEC, "byte %zu", changes[i].at);
        self.data[changes[i].at] = kept;
    }
    ck_assert_int_eq(elffile_open(&f, read_error, NULL), -EIO);
    free(self.data);
}
END_TEST

START_TEST(names_in_memory_follow_the_same_rule)
{
    static const struct {
        const char *name;
        long index;
    } cases[] = {{"unit_probe", 1},    {"je_unit_probe", 1}, {"xnit_probe", 2},
                 {"unit_prob", -1},    {"unit_probe_", -1},  {"", -1},
                 {"_Zunit_probe", -1}, {"_Runit_probe", -1}, {"a.unit_probe", -1},
                 {"x$unit_probe", -1}, {"_unit_probe", 1},   {"no_such_name", 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(elffile_name_match(cases[i].name, strlen(cases[i].name), names, NAMES) == cases[i].index, "%s",
                      cases[i].name);
    char longest[64];
    memset(longest, 'p', sizeof longest);
    memcpy(longest + ELFFILE_PREFIX_MAX + 1, "unit_probe", 10);
    ck_assert_int_eq(elffile_name_match(longest + 1, ELFFILE_PREFIX_MAX + 10, names, NAMES), 1);
    ck_assert_int_eq(elffile_name_match(longest, ELFFILE_PREFIX_MAX + 11, names, NAMES), -1);
}
END_TEST

START_TEST(broken_notes_have_no_build_id)
{
    struct {
        ElfW(Nhdr) header;
        char name[4];
        unsigned char id[ELFFILE_ID_MAX + 4];
    } note = {{4, 20, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3}};
    unsigned char id[ELFFILE_ID_MAX];

    ck_assert_uint_eq(elffile_note_id(&note, 36, 4, id), 20);
    ck_assert_int_eq(memcmp(id, note.id, 20), 0);
    for (size_t n = 0; n < 36; n++) {
        char *exact = malloc(n + !n);
        memcpy(exact, &note, n);
        ck_assert_uint_eq(elffile_note_id(exact, n, 4, id), 0);
        free(exact);
    }
    note.header.n_descsz = ELFFILE_ID_MAX + 1;
    ck_assert_uint_eq(elffile_note_id(&note, sizeof note, 4, id), 0);
    note.header.n_descsz = 0;
    ck_assert_uint_eq(elffile_note_id(&note, sizeof note, 4, id), 0);
    note.header = (ElfW(Nhdr)){UINT32_MAX, UINT32_MAX, NT_GNU_BUILD_ID};
    ck_assert_uint_eq(elffile_note_id(&note, sizeof note, 4, id), 0);
    note.header = (ElfW(Nhdr)){4, 20, NT_GNU_BUILD_ID + 1};
    ck_assert_uint_eq(elffile_note_id(&note, 36, 4, id), 0);
}
END_TEST

Suite *suite_elffile(void)
{
    const TTest *const tests[] = {symbols_of_the_file_are_found_with_their_prefixes,
                                  the_build_id_is_that_of_memory,
                                  a_file_cut_off_gives_true_symbols_or_an_error,
                                  what_is_no_file_of_ours_is_refused,
                                  names_in_memory_follow_the_same_rule,
                                  broken_notes_have_no_build_id,
                                  NULL};

    return unit_suite("elffile", tests);
}
