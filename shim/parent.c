#include "parent.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "real.h"
#include "sys.h"
#include "text.h"

enum { PARENT_BUFFER = 4096 };

/* Our own file, as a line of maps has it: its inode between blanks. (Not its name, which may lead there by way of a link.) */
static bool parent_mark(char *mark, size_t size)
{
    const struct link_map *own = real_own();
    struct stat status;
    struct text t;

    if (!own || sys4(SYS_newfstatat, AT_FDCWD, own->l_name, &status, 0) != 0)
        return false;
    text_init(&t, mark, size);
    text_char(&t, ' ');
    text_u64(&t, status.st_ino);
    text_char(&t, ' ');
    return true;
}

static bool parent_line_has(const char *line, const char *end, const char *mark, size_t length)
{
    for (; (size_t)(end - line) >= length; line++)
        if (memcmp(line, mark, length) == 0)
            return true;
    return false;
}

struct parent {
    const char *mark;
    bool has, dash;
};

/* Whole lines of the buffer are looked at and taken out of it; a longer line than fits is cut. */
static void parent_lines(struct parent *p, char *buffer, size_t *n)
{
    static const char dash[] = "/dash";
    char *line = buffer, *end;

    for (; (end = memchr(line, '\n', *n - (size_t)(line - buffer))); line = end + 1) {
        p->has |= parent_line_has(line, end, p->mark, strlen(p->mark));
        p->dash |= (size_t)(end - line) >= sizeof dash && memcmp(end - (sizeof dash - 1), dash, sizeof dash - 1) == 0;
    }
    *n -= (size_t)(line - buffer);
    memmove(buffer, line, *n);
    if (*n == PARENT_BUFFER)
        *n = 0;
}

bool parent_speaks(void)
{
    char name[40], mark[30], buffer[PARENT_BUFFER];
    struct parent p = {.mark = mark};
    size_t n = 0;
    struct text t;
    long got = 1, fd;

    if (!parent_mark(mark, sizeof mark))
        return false;
    text_init(&t, name, sizeof name);
    text_str(&t, "/proc/");
    text_u64(&t, (uint64_t)sys0(SYS_getppid));
    text_str(&t, "/maps");
    fd = sys4(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    while (fd >= 0 && got > 0) {
        got = sys3(SYS_read, fd, buffer + n, sizeof buffer - n);
        n += got > 0 ? (size_t)got : 0;
        parent_lines(&p, buffer, &n);
    }
    if (fd >= 0)
        sys1(SYS_close, fd);
    return p.has && !p.dash;
}
