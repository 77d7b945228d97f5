/* Closes every descriptor but stdin, reuses the numbers for files of its own, and says what they hold in the end. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "loop";
    char text[64], c;
    int out = fcntl(1, F_DUPFD_CLOEXEC, 900);
    dprintf(out, "ready\n");
    (void)read(0, &c, 1); /* the driver has had a release when it goes on */
    int keep = strcmp(way, "range") == 0 ? (close_range(1, 899, 0), close_range(901, ~0U, 0), 0) : 0;
    for (int fd = 1; strcmp(way, "range") != 0 && fd < 65536; fd++)
        if (fd != out)
            close(fd);
    for (int i = 1; i < 200; i++) { /* 1, 2, 3, ... are files now */
        (void)snprintf(text, sizeof text, "file%d", i);
        int fd = open(text, O_RDWR | O_CREAT | O_TRUNC, 0600);
        keep += fd != i;
        if (strcmp(way, "dup2") == 0 && i > 100)
            dup2(i, i + 300);
    }
    dprintf(out, "ready\n");
    (void)read(0, &c, 1); /* and another one */
    for (int i = 1; i < 200; i++)
        keep += lseek(i, 0, SEEK_END) != 0;
    dprintf(out, "strange: %d\n", keep);
    return keep;
}
