/* hold MIB BLOCK: a host that has freed MIB in blocks of BLOCK bytes, which its allocator keeps.
 *
 * Says "ready". On "call" it makes the allocator's own call, on the thread that has allocated, on "thread" on one made for
 * it, and says "called NS BEFORE AFTER": its duration, and RssAnon in KiB before and after. Ends with its input. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long anon_kib(void)
{
    char line[128];
    long kib = -1;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib;
}

/* The call of the allocator behind malloc, the first that is there. */
static void own_call(void)
{
    void (*gperftools)(void) = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory");
    void (*mimalloc)(int) = (void (*)(int))(uintptr_t)dlsym(RTLD_DEFAULT, "mi_collect");
    int (*jemalloc)(const char *, void *, size_t *, void *, size_t) =
        (int (*)(const char *, void *, size_t *, void *, size_t))(uintptr_t)dlsym(RTLD_DEFAULT, "mallctl");
    int (*tbb)(int, void *) = (int (*)(int, void *))(uintptr_t)dlsym(RTLD_DEFAULT, "scalable_allocation_command");
    int (*glibc)(size_t) = (int (*)(size_t))(uintptr_t)dlsym(RTLD_DEFAULT, "malloc_trim");

    if (gperftools)
        gperftools();
    else if (jemalloc)
        jemalloc("arena.4096.purge", NULL, NULL, NULL, 0);
    else if (mimalloc)
        mimalloc(1);
    else if (tbb)
        tbb(0, NULL);
    else if (glibc)
        glibc(0);
}

static void *measured_call(void *ns)
{
    long start = now();
    own_call();
    *(long *)ns = now() - start;
    return NULL;
}

static void call(int on_thread)
{
    long before = anon_kib(), ns = 0;
    pthread_t thread;

    if (on_thread && pthread_create(&thread, NULL, measured_call, &ns) == 0)
        pthread_join(thread, NULL);
    else
        measured_call(&ns);
    printf("called %ld %ld %ld\n", ns, before, anon_kib());
}

int main(int argc, char **argv)
{
    size_t total = argc > 1 ? strtoul(argv[1], NULL, 10) << 20 : 0, block = argc > 2 ? strtoul(argv[2], NULL, 10) : 65536;
    size_t n = total / block;
    char line[64], **blocks = calloc(n + 1, sizeof *blocks);

    setvbuf(stdout, NULL, _IOLBF, 0);
    anon_kib(); /* what stdio and the stack need is resident before anything is measured */
    for (size_t i = 0; i < n; i++)
        memset(blocks[i] = malloc(block), 1, block);
    char *volatile above = malloc(block); /* in use, above everything: glibc cannot just lower its top */
    memset(above, 1, block);
    for (size_t i = 0; i < n; i++)
        free(blocks[i]);
    puts("ready");
    while (fgets(line, sizeof line, stdin))
        if (strcmp(line, "call\n") == 0 || strcmp(line, "thread\n") == 0)
            call(*line == 't');
    free(above);
    free(blocks);
    return 0;
}
