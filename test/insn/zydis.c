/* zydis FILE...: lib/insn_x86_64 against Zydis, over every function that the symbol tables of the files name.
 *
 * Of each function: it is read by both, up to the first instruction that one of them does not know, and all lengths must be the
 * same; its begin is moved to another place and must mean the same there, operand
 * by operand, as Zydis reads it. Prints how many functions were refused, and why. Exits with 1 at any difference. */
#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "insn_x86_64.h"

enum { REASONS = 16, SHOWN = 20 };

static ZydisDecoder decoder;
static unsigned long functions, instructions, moved, unknown, invalid, differences;
static struct { const char *why; unsigned long n; } refused[REASONS];

static void differ(const char *file, const char *name, const char *what, const unsigned char *code)
{
    if (differences++ >= SHOWN)
        return;
    printf("%s: %s: %s at", file, name, what);
    for (int i = 0; i < INSN_MAX; i++)
        printf(" %02x", code[i]);
    printf("\n");
}

static void refuse(const char *why)
{
    for (int i = 0; i < REASONS; i++) {
        if (!refused[i].why)
            refused[i].why = why;
        if (strcmp(refused[i].why, why) == 0) {
            refused[i].n++;
            return;
        }
    }
}

static int both(const unsigned char *code, size_t n, struct insn *i, ZydisDecodedInstruction *z)
{
    int ours = insn_read(i, code, n);
    ZyanStatus theirs = ZydisDecoderDecodeInstruction(&decoder, NULL, code, n, z);

    instructions++;
    if (ours)
        unknown += ZYAN_SUCCESS(theirs);
    else if (!ZYAN_SUCCESS(theirs))
        invalid++; /* data between functions; ours need not know that it is no instruction */
    else
        return i->length == z->length;
    return -1;
}

/* Lengths, and what ours says of where it goes. */
static void walk(const char *file, const char *name, const unsigned char *code, size_t n)
{
    ZydisDecodedInstruction z;
    struct insn i;

    for (size_t at = 0; at < n; at += i.length) {
        int same = both(code + at, n - at, &i, &z);
        if (same < 0)
            return;
        if (!same)
            differ(file, name, "another length", code + at);
        int relative = z.attributes & ZYDIS_ATTRIB_IS_RELATIVE ? 1 : 0;
        if (relative != (i.target_at || i.rip_at))
            differ(file, name, "relative or not", code + at);
        int calls = z.meta.category == ZYDIS_CATEGORY_CALL;
        if (calls != (i.kind == INSN_CALLS || i.kind == INSN_CALLS_BY))
            differ(file, name, "a call or not", code + at);
        if (!same)
            return;
    }
}

static uint64_t absolute(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint64_t at)
{
    uint64_t value = 0;

    if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(z, o, at, &value)))
        return 0;
    return value;
}

/* The moved begin: the same instructions with the same operands, relative ones with the same absolute meaning. */
static void compare_moved(const char *file, const char *name, const struct insn_move *m)
{
    ZydisDecodedInstruction a, b;
    ZydisDecodedOperand x[ZYDIS_MAX_OPERAND_COUNT], y[ZYDIS_MAX_OPERAND_COUNT];
    size_t from = 0, to = 0;

    while (from < m->taken) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, m->code + from, m->size - from, &a, x)) ||
            !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, m->made + to, m->n_made - to, &b, y)) ||
            a.mnemonic != b.mnemonic || a.operand_count != b.operand_count) {
            differ(file, name, "moved to another instruction", m->code + from);
            return;
        }
        int relative = a.attributes & ZYDIS_ATTRIB_IS_RELATIVE ? 1 : 0;
        if (!relative && (a.length != b.length || memcmp(m->code + from, m->made + to, a.length) != 0))
            differ(file, name, "changed though it is not relative", m->code + from);
        for (int i = 0; i < a.operand_count_visible; i++) {
            int same = x[i].type == y[i].type && absolute(&a, &x[i], m->from + from) == absolute(&b, &y[i], m->to + to);
            if (x[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
                same = same && x[i].reg.value == y[i].reg.value;
            if (x[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !x[i].imm.is_relative)
                same = same && x[i].imm.value.u == y[i].imm.value.u;
            if (x[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
                same = same && x[i].mem.base == y[i].mem.base && x[i].mem.index == y[i].mem.index && x[i].mem.scale == y[i].mem.scale;
            if (!same)
                differ(file, name, "moved to another meaning", m->code + from);
        }
        from += a.length;
        to += b.length;
    }
    ZydisDecodedOperand back[ZYDIS_MAX_OPERAND_COUNT];
    if (from != m->taken || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, m->made + to, m->n_made - to, &b, back)) ||
        b.mnemonic != ZYDIS_MNEMONIC_JMP || absolute(&b, &back[0], m->to + to) != m->from + m->taken || to + b.length != m->n_made)
        differ(file, name, "no way back behind it", m->code);
}

static void function(const char *file, const char *name, const unsigned char *code, size_t size, uint64_t address)
{
    size_t skip = insn_is_endbr64(code, size) ? INSN_ENDBR64 : 0;
    struct insn_move m = {.code = code + skip, .size = size - skip, .from = address + skip,
                          .to = address + skip - 0x12345670 /* not a round distance, so that no byte of it may be lost */};
    const char *why;

    functions++;
    walk(file, name, code, size);
    why = insn_move(&m);
    if (!why)
        why = insn_check_body(code, size, address, m.from, m.from + m.taken);
    if (why) {
        refuse(why);
        return;
    }
    moved++;
    compare_moved(file, name, &m);
}

static uint64_t offset_of(const Elf64_Ehdr *e, uint64_t address)
{
    const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)((const char *)e + e->e_phoff);

    for (int i = 0; i < e->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr && address - p[i].p_vaddr < p[i].p_filesz)
            return p[i].p_offset + (address - p[i].p_vaddr);
    return 0;
}

static void table(const char *file, const char *map, size_t size, const Elf64_Shdr *t, const char *names)
{
    const Elf64_Ehdr *e = (const void *)map;
    const Elf64_Sym *s = (const void *)(map + t->sh_offset);

    for (size_t i = 0; i < t->sh_size / sizeof *s; i++) {
        uint64_t at = s[i].st_shndx != SHN_UNDEF ? offset_of(e, s[i].st_value) : 0;
        if ((s[i].st_info & 15) == STT_FUNC && s[i].st_size && at && s[i].st_size <= size - at)
            function(file, names + s[i].st_name, (const unsigned char *)map + at, s[i].st_size, s[i].st_value);
    }
}

static void look(const char *file)
{
    int fd = open(file, O_RDONLY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(file);
        exit(2);
    }
    char *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    const Elf64_Ehdr *e = (const void *)map;
    if (map == MAP_FAILED || (size_t)st.st_size < sizeof *e || memcmp(map, ELFMAG, SELFMAG) != 0 || e->e_machine != EM_X86_64)
        return;
    const Elf64_Shdr *h = (const void *)(map + e->e_shoff);
    for (int i = 0; i < e->e_shnum; i++)
        if (h[i].sh_type == SHT_SYMTAB || h[i].sh_type == SHT_DYNSYM)
            table(file, map, (size_t)st.st_size, &h[i], map + h[h[i].sh_link].sh_offset);
    munmap(map, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (int i = 1; i < argc; i++)
        look(argv[i]);
    printf("%lu functions of %d files, %lu instructions read twice; %lu begins moved and alike\n", functions, argc - 1, instructions, moved);
    for (int i = 0; i < REASONS && refused[i].why; i++)
        printf("%8lu refused: %s\n", refused[i].n, refused[i].why);
    printf("%8lu that only Zydis knows, %lu that only ours takes for an instruction\n", unknown, invalid);
    printf("%lu passed, %lu failed\n", functions && moved > functions / 2 ? 1UL : 0UL, differences + !(functions && moved > functions / 2));
    return differences || !functions || moved <= functions / 2;
}
