/* thrash FILE: reads a file over and over through a mapping, which makes memory pressure where the file does not fit; ends with stdin. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return 1;
    volatile char *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        return 1;
    puts("ready");
    (void)fflush(stdout);
    for (off_t at = 0;; at = at + 4096 < st.st_size ? at + 4096 : 0) {
        (void)bytes[at];
        if (at % (1 << 20) == 0 && poll(&(struct pollfd){0, POLLIN, 0}, 1, 0) > 0)
            return 0;
    }
}
