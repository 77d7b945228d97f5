/* stderrs WAY: what a host may do to its stderr before the release: close it, put a file of its own in its place, or leave it
 * as the driver has prepared it. The file stays as it is. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *way = argv[argc - 1];
    struct stat s;
    char c;
    if (strcmp(way, "close") == 0)
        close(2);
    if (strcmp(way, "database") == 0) {
        close(2);
        (void)write(open("database", O_RDWR | O_CREAT | O_EXCL, 0600), "precious", 8);
    }
    (void)write(1, "ready\n", 6);
    (void)read(0, &c, 1);
    (void)write(1, "still here\n", 11);
    if (strcmp(way, "database") == 0)
        printf("size %d\n", (int)(fstat(2, &s) == 0 ? s.st_size : -1));
    return 0;
}
