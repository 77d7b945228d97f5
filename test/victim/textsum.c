/* textsum: a sum over the code of libc in this process. It is the same in all of them unless somebody has changed it. */
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int sum(struct dl_phdr_info *i, size_t size, void *context)
{
    uint64_t *h = context;

    (void)size;
    if (!strstr(i->dlpi_name, "libc.so.6"))
        return 0;
    for (int k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &i->dlpi_phdr[k];
        for (size_t at = 0; p->p_type == PT_LOAD && p->p_flags & PF_X && at < p->p_memsz; at++)
            *h = (*h ^ ((const unsigned char *)(i->dlpi_addr + p->p_vaddr))[at]) * UINT64_C(0x100000001b3);
    }
    return 1;
}

int main(void)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    dl_iterate_phdr(sum, &h);
    printf("%016lx\n", (unsigned long)h);
    return 0;
}
