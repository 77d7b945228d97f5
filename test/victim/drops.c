/* drops WAY: after a line on stdin it gives something up (its root, its user, its free descriptors, every descriptor but stdin and
 * stdout), says how that went, and idles until stdin ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int drop(const char *way)
{
    int n = 0;
    if (strcmp(way, "root") == 0)
        return chroot(".") || chdir("/");
    if (strcmp(way, "user") == 0)
        return setgid(65534) || setuid(65534);
    if (strcmp(way, "descriptors") == 0) {
        (void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64});
        while (open("/dev/null", O_RDONLY) >= 0)
            n++;
        return errno == EMFILE ? n : -1;
    }
    return close_range(2, ~0U, 0);
}

int main(int argc, char **argv)
{
    char c;
    puts("ready");
    (void)fflush(stdout);
    (void)read(0, &c, 1);
    int result = drop(argv[argc - 1]);
    printf("dropped %d\n", result);
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    return 5;
}
