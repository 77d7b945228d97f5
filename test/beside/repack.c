/* A function that leaves garbage behind, called five times, and one that is called often. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4000, BLOCK = 10000 };
static char *blocks[BLOCKS];

__attribute__((noinline)) int repack(int n)
{
    int sum = n;

    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK);
        memset(blocks[i], i, BLOCK);
    }
    for (int i = 0; i < BLOCKS; i++) {
        sum += blocks[i][7];
        free(blocks[i]);
    }
    return sum;
}

__attribute__((noinline)) int often(int a)
{
    static volatile int calls;

    calls = calls + 1;
    return a + (calls & 1);
}

int main(void)
{
    int sum = 0;

    for (int i = 0; i < 5; i++)
        sum += repack(i);
    for (int i = 0; i < 100000; i++)
        sum += often(i & 3);
    printf("%d\n", sum);
    return 0;
}
