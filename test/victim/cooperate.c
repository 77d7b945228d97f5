/* An example of libgiveback(3): a program that says itself when a phase is over. It runs the same without the library.
 *
 *     cc cooperate.c $(pkg-config --cflags giveback) -o cooperate */
#include <giveback.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 1600
#define SIZE (40 << 10)

/* Frees what its allocator then keeps: every sixteenth block stays. */
static void load(char **kept)
{
    static char *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(SIZE), 1, SIZE);
    for (int i = 0; i < BLOCKS; i++)
        if (i % 16)
            free(blocks[i]);
        else
            kept[i / 16] = blocks[i];
}

int main(void)
{
    char *kept[BLOCKS / 16], record[4096];
    int64_t before, after;

    load(kept);
    before = giveback_anon();
    int allocators = giveback_release("load");
    after = giveback_anon();
    giveback_mark("serving");
    int length = giveback_last(record, sizeof record);
    printf("%d allocators, RssAnon %lld -> %lld\n%d %s\n", allocators, (long long)before, (long long)after, length, record);
    return kept[1][0] == 1 ? 0 : 1;
}
