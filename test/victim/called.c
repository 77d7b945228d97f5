/* Holds 64 MiB in a cache of its own; give_more(), which is not exported, empties it. Two functions whose names end like
 * those of allocators kill it when somebody takes them for that. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <string.h>
#include <unistd.h>

#define SIZE ((size_t)64 << 20)

static char *cache;

__attribute__((used, noinline)) static void give_more(void)
{
    (void)munmap(cache, SIZE);
}

__attribute__((used, noinline)) static void stranger_mallctl(void)
{
    abort();
}

__attribute__((used, noinline)) static void stranger_mi_collect(void)
{
    abort();
}

int main(void)
{
    char c;
    cache = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(cache, 1, SIZE);
    puts("ready");
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    return 0;
}
