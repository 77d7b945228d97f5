/* mapper WAY: maps and unmaps 24 MiB in that way, says "all said" on stderr, and again for each line on stdin. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static void *map(size_t n)
{
    void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        _exit(3);
    return at;
}

static void way_mmap(void) { munmap(map(24 * MIB), 24 * MIB); }
static void way_pieces(void) { for (int i = 0; i < 24 * 256; i++) munmap(map(4000), 4000); }
/* And 8 MiB freed that only a release gives back: one block above them stays. */
static void way_held(void)
{
    char *blocks[513];
    for (int i = 0; i < 513; i++)
        memset(blocks[i] = malloc(16000), 1, 16000);
    for (int i = 0; i < 512; i++)
        free(blocks[i]);
    way_pieces();
}

static void way_raw(void) { syscall(SYS_munmap, syscall(SYS_mmap, NULL, 24 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L), 24 * MIB); }
static void way_large(void)
{
    char *volatile block[3]; /* all before the first is freed: glibc then maps none of that size any more */
    for (int i = 0; i < 3; i++)
        block[i] = malloc(8 * MIB);
    for (int i = 0; i < 3; i++)
        free(block[i]);
}


/* In small blocks, so that the allocator says by what it gets them. */
static void way_small(void)
{
    static char *blocks[24 * 64];
    for (int i = 0; i < 24 * 64; i++)
        memset(blocks[i] = malloc(16000), 1, 16000);
    for (int i = 0; i < 24 * 64; i++)
        free(blocks[i]);
}

static void way_sbrk(void)
{
    if (sbrk(24 * MIB) == (void *)-1 || sbrk(-(intptr_t)(24 * MIB)) == (void *)-1)
        _exit(3);
}

static void way_mremap(void)
{
    char *p = map(4096);
    p = mremap(p, 4096, 24 * MIB, MREMAP_MAYMOVE);
    if (p == MAP_FAILED || mremap(p, 24 * MIB, 4096, 0) != p)
        _exit(3);
    munmap(p, 4096);
}

static void way_failing(void)
{
    void *sink = mmap(NULL, 24 * MIB, PROT_NONE, MAP_PRIVATE, -1, 0);
    if (sink != MAP_FAILED || munmap((char *)1, 24 * MIB) == 0 || mremap((char *)1, 4096, 24 * MIB, 0) != MAP_FAILED)
        _exit(3);
}

/* Nothing is there, which the kernel does not mind: so the threads meet in what counts it. */
static void *unmapper(void *nothing)
{
    for (int i = 0; i < 32768; i++)
        munmap(nothing, 4096);
    return NULL;
}

/* 1 GiB in all. */
static void way_threads(void)
{
    pthread_t t[8];
    pthread_attr_t small; /* stacks that libc keeps */
    char *nothing = (char *)map(3 * 4096) + 4096; /* between two pages that stay: no stack fits there */
    munmap(nothing, 4096);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], &small, unmapper, nothing);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
}

static void way_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        way_mmap();
        if (write(2, "all said\n", 9) != 9)
            _exit(3);
        for (char c; read(0, &c, 1) > 0;)
            ;
        _exit(0);
    }
}

#define WAY(name) {#name, way_##name}
static const struct { const char *name; void (*go)(void); } ways[] = {
    WAY(mmap), WAY(pieces), WAY(held), WAY(raw), WAY(large), WAY(small), WAY(sbrk), WAY(mremap), WAY(failing), WAY(threads), WAY(child),
};

int main(int argc, char **argv)
{
    char c;
    do {
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
            if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
                ways[i].go();
        if (write(2, "all said\n", 9) != 9)
            _exit(3);
    } while (read(0, &c, 1) > 0);
    return 7;
}
