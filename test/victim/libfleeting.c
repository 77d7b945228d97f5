/* An object with the symbols of a tcmalloc that is in use. Its functions count calls in memory of their own, so that one
 * that is called or written after the object has gone shows. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

void MallocExtension_ReleaseFreeMemory(void);
int MallocExtension_GetNumericProperty(const char *name, size_t *value);

static int *calls;

__attribute__((constructor)) static void fleeting_start(void)
{
    calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

__attribute__((destructor)) static void fleeting_end(void)
{
    (void)munmap(calls, 4096);
    calls = NULL;
}

void MallocExtension_ReleaseFreeMemory(void)
{
    ++*calls;
}

int MallocExtension_GetNumericProperty(const char *name, size_t *value)
{
    *value = (size_t)64 << 20;
    ++*calls;
    return name[0] != 0;
}
