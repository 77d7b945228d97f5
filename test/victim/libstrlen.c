/* A library that stands in front of libc with a strlen of its own, so that everybody calls this one. */
#include <stddef.h>

size_t strlen(const char *s);
size_t strlen(const char *s)
{
    const volatile char *p = s;

    while (*p)
        p++;
    return (size_t)((const char *)p - s);
}
