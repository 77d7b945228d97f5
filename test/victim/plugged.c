/* Opens an object late and uses the allocator in it: "plugged OBJECT [BYTES]" frees 128 MiB of it that it keeps, in blocks of
 * BYTES (none: it only loads the object). Closes it at the first line on stdin. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOTAL ((size_t)128 << 20)

static char *blocks[TOTAL / 1000];

int main(int argc, char **argv)
{
    char c;
    void *object = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!object)
        return fprintf(stderr, "%s\n", dlerror()), 2;
    void *(*take)(size_t) = (void *(*)(size_t))(uintptr_t)dlsym(object, "plugin_alloc");
    void (*give)(void *) = (void (*)(void *))(uintptr_t)dlsym(object, "plugin_free");
    size_t size = argc > 2 ? (size_t)atol(argv[2]) : 0, n = size ? TOTAL / size : 0;
    for (size_t i = 0; i < n; i++)
        memset(blocks[i] = take(size), 1, size);
    for (size_t i = 0; i < n; i++)
        give(blocks[i]);
    puts("ready");
    (void)fflush(stdout);
    if (read(0, &c, 1) <= 0)
        return 0;
    puts(dlclose(object) == 0 ? "closed" : "cannot close");
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    return 0;
}
