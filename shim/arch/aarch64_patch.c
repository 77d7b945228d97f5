#include <errno.h>

#include "patch.h"

void hook_call_start(uint32_t exits)
{
    (void)exits; /* no call is hooked */
}

int patch_open(void)
{
    return -ENOSYS;
}

const char *patch_function(int fd, struct hook *h, size_t size, uintptr_t low, uintptr_t high)
{
    (void)fd;
    (void)h;
    (void)size;
    (void)low;
    (void)high;
    return "native functions are hooked on x86-64 only";
}

bool patch_empty(int fd, uintptr_t at, void (*loaded)(void))
{
    (void)fd;
    (void)at;
    (void)loaded;
    return false;
}
