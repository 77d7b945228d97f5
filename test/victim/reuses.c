/* reuses N: closes descriptor N at once and has a pipe of its own under that number, with a line in it; on a line on stdin it says
 * what it reads there. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int n = atoi(argv[argc - 1]), own[2];
    char text[64] = "", c;
    close(n);
    if (pipe(own) != 0 || dup2(own[0], n) != n || write(own[1], "my own\n", 7) != 7)
        return 2;
    puts("ready");
    (void)fflush(stdout);
    (void)read(0, &c, 1);
    (void)fcntl(n, F_SETFL, O_NONBLOCK);
    ssize_t got = read(n, text, sizeof text - 1);
    printf("%zd %.*s\n", got, (int)strcspn(text, "\n"), text);
    return 0;
}
