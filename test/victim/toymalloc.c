/* Has a malloc of its own that nobody knows: it only ever takes, and free does nothing. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARENA ((size_t)1 << 30)
#define HEAD 16

void *malloc(size_t n);
void free(void *p);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t n);

static char *arena;
static size_t used;

void *malloc(size_t n)
{
    if (!arena)
        arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t whole = (n + HEAD + HEAD - 1) / HEAD * HEAD, at = __atomic_fetch_add(&used, whole, __ATOMIC_SEQ_CST);
    if (arena == MAP_FAILED || at + whole > ARENA)
        return NULL;
    memcpy(arena + at, &n, sizeof n);
    return arena + at + HEAD;
}

void free(void *p)
{
    (void)p;
}

void *calloc(size_t n, size_t size)
{
    return malloc(n * size); /* fresh pages are zero */
}

void *realloc(void *p, size_t n)
{
    size_t old = 0;
    char *new = malloc(n);
    if (p)
        memcpy(&old, (char *)p - HEAD, sizeof old);
    return new && p ? memcpy(new, p, old < n ? old : n) : new;
}

int main(void)
{
    char c;
    for (int i = 0; i < 1000; i++) {
        char *p = malloc(100000);
        memset(p, 1, 100000);
        free(p);
    }
    puts("ready");
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    return 0;
}
