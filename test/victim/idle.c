/* Blocks in read on stdin and does nothing else; ends when stdin does. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char c;
    puts("ready");
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    return 7;
}
