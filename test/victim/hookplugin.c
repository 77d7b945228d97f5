/* hookplugin N [FOLDER [apart]]: opens and closes a plugin of that folder, or beside itself (""), N times, calls into it, and tells
 * the next free descriptor. apart: each time in a namespace of its own. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *nothing(void *p)
{
    return p;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    char path[1000];
    long sum = 0;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 50);

    if (length < 0)
        return 1;
    path[length] = '\0';
    strcpy(strrchr(path, '/'), "/libhookplug.so");
    if (argc > 2 && *argv[2])
        (void)snprintf(path, sizeof path, "%s/libhookplug.so", argv[2]);
#if defined __aarch64__
    /* qemu-user forgets here what it has translated. It does not see that ld.so's code was written to (before 8.1 in no way,
     * while a processor has its caches told by the kernel). */
    pthread_t t;
    if (pthread_create(&t, NULL, nothing, NULL) != 0 || pthread_join(t, NULL) != 0)
        return 1;
#else
    (void)nothing;
#endif
    for (int i = 0; i < n; i++) {
        void *plugin = argc > 3 ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, RTLD_NOW);
        if (!plugin)
            return printf("%s\n", dlerror()), 1;
        long (*work)(long, long) = (long (*)(long, long))dlsym(plugin, "plug_work");
        long (*constructed)(void) = (long (*)(void))dlsym(plugin, "plug_constructed");
        sum += work(i, 7) + constructed();
        dlclose(plugin);
    }
    printf("%ld %d %d\n", sum, open("/dev/null", O_RDONLY), dlopen("/no/such/library.so", RTLD_NOW) == NULL);
    return 0;
}
