/* Once it is told to, goes where the files of its start cannot be reached: another root, another user. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    char c;
    puts("ready");
    (void)fflush(stdout);
    (void)!read(0, &c, 1);
    if (chroot(".") || chdir("/") || setgid(65534) || setuid(65534))
        return 1;
    puts("ready");
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    return 0;
}
