#include "parent.h"

#include <fcntl.h>
#include <string.h>

#include "real.h"
#include "sys.h"
#include "text.h"

enum { PARENT_BUFFER = 4096 };

/* Whole lines of the buffer are looked at and taken out of it; a longer line than fits is cut. */
static bool parent_lines(char *buffer, size_t *n, const char *path, size_t length)
{
    char *line = buffer, *end;
    bool found = false;

    for (; !found && (end = memchr(line, '\n', *n - (size_t)(line - buffer))); line = end + 1)
        found = (size_t)(end - line) > length && end[-(long)length - 1] == ' ' && memcmp(end - length, path, length) == 0;
    *n -= (size_t)(line - buffer);
    memmove(buffer, line, *n);
    if (*n == PARENT_BUFFER)
        *n = 0;
    return found;
}

bool parent_has_library(void)
{
    const struct link_map *own = real_own();
    char name[40], buffer[PARENT_BUFFER];
    size_t n = 0, length = own ? strlen(own->l_name) : 0;
    bool found = false;
    struct text t;
    long got = 1, fd;

    text_init(&t, name, sizeof name);
    text_str(&t, "/proc/");
    text_u64(&t, (uint64_t)sys0(SYS_getppid));
    text_str(&t, "/maps");
    fd = sys4(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    while (fd >= 0 && length && !found && got > 0) {
        got = sys3(SYS_read, fd, buffer + n, sizeof buffer - n);
        n += got > 0 ? (size_t)got : 0;
        found = parent_lines(buffer, &n, own->l_name, length);
    }
    if (fd >= 0)
        sys1(SYS_close, fd);
    return found;
}
