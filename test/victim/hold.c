/* Frees 64 MiB that every allocator keeps: blocks of 40 KiB with a live one at the end of every sixteen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE (40 << 10)
#define COUNT (64 << 20) / SIZE

static char *blocks[COUNT];

int main(void)
{
    char c;
    for (int i = 0; i < COUNT; i++)
        memset(blocks[i] = malloc(SIZE), i, SIZE);
    for (int i = 0; i < COUNT; i++)
        if (i % 16 != 15)
            free(blocks[i]);
    puts("ready");
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    for (int i = 15; i < COUNT; i += 16)
        if (blocks[i][77] != (char)i)
            return 1;
    return 0;
}
