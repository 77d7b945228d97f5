/* recycle MIB SECONDS: takes MIB in blocks of 64 KiB, touches them, frees them, and begins again: what is given back in
 * between is taken back at once. Prints the rounds in a second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK 65536

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[1]) * 16 : 0, rounds = 0;
    double seconds = argc > 2 ? atof(argv[2]) : 0, start = now(), took;
    char **block = calloc((size_t)n + 1, sizeof *block);

    do {
        for (int i = 0; i < n; i++)
            memset(block[i] = malloc(BLOCK), rounds, BLOCK);
        for (int i = 0; i < n; i++)
            free(block[i]);
        rounds++;
        took = now() - start;
    } while (took < seconds);
    printf("%f\n", rounds / took);
    return 0;
}
