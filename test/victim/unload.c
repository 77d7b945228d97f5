/* unload LIBRARY: the library comes by dlopen, not by LD_PRELOAD, and goes by dlclose, twice; then the process still lives
 * with its signal. The line on stdin comes after the driver's signals. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char c;
    for (int i = 0; i < 2; i++) {
        void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW | (i ? RTLD_GLOBAL : RTLD_LOCAL)) : NULL;
        printf("handle %d\nready\n", handle != NULL || argc < 2);
        (void)fflush(stdout);
        (void)read(0, &c, 1);
        printf("dlclose %d\nready\n", handle ? dlclose(handle) : 0);
        (void)fflush(stdout);
        (void)read(0, &c, 1);
    }
    return 0;
}
