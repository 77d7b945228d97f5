/* hookrepack LAYERS: each layer is built in a function that frees what it needed; says "ready" when all are there, and ends
 * when its stdin does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 20000
#define BLOCKS 3200 /* 64 MB */

void *weights[BLOCKS];
void repack_layer(int layer);

__attribute__((noipa)) void repack_layer(int layer)
{
    static void *blocks[BLOCKS];

    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(BLOCK), layer + 1, BLOCK);
    weights[layer] = malloc(BLOCK);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4;
    char line[10];

    for (int i = 0; i < n; i++)
        repack_layer(i);
    puts("ready");
    fflush(stdout);
    return fgets(line, sizeof line, stdin) != NULL;
}
