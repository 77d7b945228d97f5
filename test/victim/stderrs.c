/* stderrs WAY: what a host may do to its stderr before the release: close it, put a file of its own in its place, a pipe whose
 * reader has gone, or a pipe that is full. SIGPIPE must not come, nothing may block, the file stays as it is. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *way = argv[argc - 1];
    static char junk[1 << 16];
    struct stat s;
    int pipes[2];
    char c;
    (void)pipe(pipes);
    if (strcmp(way, "close") == 0)
        close(2);
    if (strcmp(way, "database") == 0) {
        close(2);
        (void)write(open("database", O_RDWR | O_CREAT | O_EXCL, 0600), "precious", 8);
    }
    if (strcmp(way, "gone") == 0) {
        dup2(pipes[1], 2);
        close(pipes[0]);
    }
    if (strcmp(way, "full") == 0) {
        (void)write(pipes[1], junk, sizeof junk);
        dup2(pipes[1], 2);
    }
    (void)write(1, "ready\n", 6);
    (void)read(0, &c, 1);
    (void)write(1, "still here\n", 11);
    if (strcmp(way, "database") == 0)
        printf("size %d\n", (int)(fstat(2, &s) == 0 ? s.st_size : -1));
    return 0;
}
