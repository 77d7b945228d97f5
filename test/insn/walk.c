#include "walk.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REASONS = 16, SHOWN = 20 };

static const char *walk_file;
static unsigned long walk_functions, walk_count, walk_differences;
static struct { const char *why; unsigned long n; } walk_refused[REASONS];

void walk_differ(const char *name, const char *what, const unsigned char *code, size_t n)
{
    if (walk_differences++ >= SHOWN)
        return;
    printf("%s: %s: %s at", walk_file, name, what);
    for (size_t i = 0; i < n; i++)
        printf(" %02x", code[i]);
    printf("\n");
}

void walk_refuse(const char *why)
{
    for (int i = 0; i < REASONS; i++) {
        if (!walk_refused[i].why)
            walk_refused[i].why = why;
        if (strcmp(walk_refused[i].why, why) == 0) {
            walk_refused[i].n++;
            return;
        }
    }
}

static uint64_t walk_offset(const Elf64_Ehdr *e, uint64_t address)
{
    const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)((const char *)e + e->e_phoff);

    for (int i = 0; i < e->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr && address - p[i].p_vaddr < p[i].p_filesz)
            return p[i].p_offset + (address - p[i].p_vaddr);
    return 0;
}

static void walk_table(const char *map, size_t size, const Elf64_Shdr *t, const char *names, walk_visit visit)
{
    const Elf64_Ehdr *e = (const void *)map;
    const Elf64_Sym *s = (const void *)(map + t->sh_offset);

    for (size_t i = 0; i < t->sh_size / sizeof *s; i++) {
        uint64_t at = s[i].st_shndx != SHN_UNDEF ? walk_offset(e, s[i].st_value) : 0;
        if ((s[i].st_info & 15) != STT_FUNC || !s[i].st_size || !at || s[i].st_size > size - at)
            continue;
        walk_functions++;
        visit(names + s[i].st_name, (const unsigned char *)map + at, s[i].st_size, s[i].st_value);
    }
}

static void walk_one(unsigned machine, walk_visit visit)
{
    int fd = open(walk_file, O_RDONLY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(walk_file);
        exit(2);
    }
    char *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    const Elf64_Ehdr *e = (const void *)map;
    if (map == MAP_FAILED || (size_t)st.st_size < sizeof *e || memcmp(map, ELFMAG, SELFMAG) != 0 || e->e_machine != machine)
        return;
    const Elf64_Shdr *h = (const void *)(map + e->e_shoff);
    for (int i = 0; i < e->e_shnum; i++)
        if (h[i].sh_type == SHT_SYMTAB || h[i].sh_type == SHT_DYNSYM)
            walk_table(map, (size_t)st.st_size, &h[i], map + h[h[i].sh_link].sh_offset, visit);
    munmap(map, (size_t)st.st_size);
}

void walk_files(int n, char **files, unsigned machine, walk_visit visit)
{
    walk_count = (unsigned long)n;
    for (int i = 0; i < n; i++) {
        walk_file = files[i];
        walk_one(machine, visit);
    }
}

int walk_end(unsigned long instructions, unsigned long moved)
{
    int good = walk_functions && moved > walk_functions / 2;

    printf("%lu functions of %lu files, %lu instructions read twice; %lu begins moved and alike\n", walk_functions, walk_count, instructions, moved);
    for (int i = 0; i < REASONS && walk_refused[i].why; i++)
        printf("%8lu refused: %s\n", walk_refused[i].n, walk_refused[i].why);
    printf("%lu passed, %lu failed\n", good ? 1UL : 0UL, walk_differences + !good);
    return walk_differences || !good;
}
