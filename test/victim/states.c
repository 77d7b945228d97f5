/* A host of which nothing can be returned, each for a reason of its own: "states live|fragmented|locked|lazy". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TOTAL ((size_t)128 << 20)
#define SMALL 500 /* eight in a page: with one in four live no page is free in any allocator */

static char *blocks[TOTAL / SMALL];

/* Frees all but the first of every `keep` blocks; 1: none. */
static void fill(size_t keep)
{
    for (size_t i = 0; i < TOTAL / SMALL; i++)
        memset(blocks[i] = malloc(SMALL), 1, SMALL);
    for (size_t i = 0; i < TOTAL / SMALL; i++)
        if (i % keep)
            free(blocks[i]);
}

static int locked(void)
{
    char *last;
    for (size_t i = 0; i < TOTAL / SMALL; i++)
        memset(blocks[i] = malloc(SMALL), 1, SMALL);
    last = malloc(SMALL); /* keeps the heap's end where it is */
    if (mlockall(MCL_CURRENT) != 0)
        return puts("cannot lock");
    for (size_t i = 0; i < TOTAL / SMALL; i++)
        free(blocks[i]);
    return puts(last ? "ready" : "no memory");
}

static int lazy(void)
{
    char *m = mmap(NULL, TOTAL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(m, 1, TOTAL);
    return puts(madvise(m, TOTAL, MADV_FREE) == 0 ? "ready" : "no MADV_FREE");
}

int main(int argc, char **argv)
{
    char c, *state = argc > 1 ? argv[1] : "";
    if (strcmp(state, "locked") == 0)
        locked();
    else if (strcmp(state, "lazy") == 0)
        lazy();
    else
        fill(strcmp(state, "live") == 0 ? 1 : 4), puts("ready");
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    return 0;
}
