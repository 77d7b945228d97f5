/* drops WAY: after a line on stdin it gives something up (its root, its user, its free descriptors, every descriptor but stdin and
 * stdout, the right to open and poll anything, on pain of death), says how that went, and idles until stdin ends. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int drop_calls(void)
{
    static struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ppoll, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program); /* for every thread */
}

static int drop(const char *way)
{
    int n = 0;
    if (strcmp(way, "root") == 0)
        return chroot(".") || chdir("/");
    if (strcmp(way, "user") == 0)
        return setgid(65534) || setuid(65534);
    if (strcmp(way, "calls") == 0)
        return drop_calls();
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
