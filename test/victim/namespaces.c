/* unshare and setns fail with EINVAL while a second thread exists. One command a line on stdin. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char line[64];
    int own = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC), mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        int r = 0;
        errno = 0;
        if (strcmp(line, "user\n") == 0)
            r = unshare(CLONE_NEWUSER);
        else if (strcmp(line, "files\n") == 0)
            r = unshare(CLONE_FILES);
        else if (strcmp(line, "mount\n") == 0)
            r = unshare(CLONE_NEWNS);
        else if (strcmp(line, "setns\n") == 0)
            r = setns(mounts, CLONE_NEWNS);
        else if (strcmp(line, "bad\n") == 0)
            r = setns(own, CLONE_NEWUSER); /* its own user namespace: EINVAL by the manual */
        else if (strcmp(line, "vm\n") == 0)
            r = unshare(CLONE_VM); /* allowed in a single-threaded process only */
        printf("%.*s: %d %s\n", (int)strcspn(line, "\n"), line, r, strerrorname_np(errno));
    }
    return 0;
}
