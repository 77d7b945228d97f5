/* restricted WAY: shuts itself in after its start, and must live on when SIGUSR1 comes: seccomp (kills on clone, clone3,
 * openat, mprotect, timer_create), landlock, chroot. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int filter(void)
{
    static const unsigned denied[] = {SYS_clone, SYS_clone3, SYS_openat, SYS_mprotect, SYS_timer_create};
    struct sock_filter code[32];
    unsigned short n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? errno : 0;
}

static int landlock(void)
{
    struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    return fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, fd, 0) ? errno : 0;
}

int main(int argc, char **argv)
{
    const char *way = argv[argc - 1];
    char c;
    int r = 0;
    if (strcmp(way, "seccomp") == 0)
        r = filter();
    if (strcmp(way, "landlock") == 0)
        r = landlock();
    if (strcmp(way, "chroot") == 0)
        r = chroot("/var/empty") && chroot("/srv") ? errno : chdir("/");
    dprintf(1, "%s\n", r == 0 ? "ready" : r == EOPNOTSUPP || r == ENOSYS ? "no" : "failed");
    while (read(0, &c, 1) > 0)
        (void)write(1, "alive\n", 6);
    return 0;
}
