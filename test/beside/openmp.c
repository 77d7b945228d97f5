/* A function with a parallel loop in it, and one that the team's threads call at the same time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

__attribute__((noinline)) int piece(int i)
{
    char *block = malloc(PIECE);

    memset(block, i, PIECE);
    int value = block[PIECE / 2];
    free(block);
    return value;
}

__attribute__((noinline)) int repack(int n)
{
    int sum = n;

#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 64; i++)
        sum += piece(i);
    return sum;
}

int main(void)
{
    int sum = 0;

    for (int i = 0; i < 5; i++)
        sum += repack(i);
    printf("%d\n", sum);
    return 0;
}
