/* moody: does what a line of stdin says, and answers with the line itself and a number, 0 when it went well: "hold N"
 * allocates N MiB in small blocks and frees them but for a few, "live N" keeps them, "drop" frees all of that, "work MS"
 * computes, "hum US" leaves a thread behind that computes so long every 10 ms, "churn MS" frees and allocates the same
 * memory all the time, "fork" makes a child that does what further lines say while its parent waits for it, "seccomp"
 * forbids to open files under pain of death, "probe" asks whether it could, "user" is unshare(CLONE_NEWUSER). */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZE (40 << 10)
#define MOST (1 << 16)

static char *blocks[MOST];
static int count;

static void take(int mib)
{
    for (int n = mib * ((1 << 20) / SIZE); n > 0 && count < MOST; n--)
        memset(blocks[count++] = malloc(SIZE), n, SIZE);
}

/* All from `from` on; with `spare` but one in sixteen, which keeps the others in the allocator. */
static void give(int from, int spare)
{
    for (int i = from; i < count; i++)
        if (!spare || i % 16 != 15) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
}

static long now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void work(long ms, int churn)
{
    volatile unsigned long n = 1;
    for (long end = now_ms() + ms; now_ms() < end;) {
        if (churn) {
            int from = count;
            take(churn);
            give(from, 1);
            give(from, 0);
            count = from;
        }
        for (int i = 0; i < 100000; i++)
            n = n * 6364136223846793005u + 1;
    }
}

static void *hum(void *amount)
{
    struct timespec rest = {0, 10000000}, t;

    for (;;) {
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        for (long end = t.tv_sec * 1000000000 + t.tv_nsec + *(int *)amount * 1000L; t.tv_sec * 1000000000 + t.tv_nsec < end;)
            (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        (void)nanosleep(&rest, NULL);
    }
    return NULL;
}

static int start_hum(int amount)
{
    static int us;
    pthread_t thread;

    us = amount;
    return pthread_create(&thread, NULL, hum, &us);
}

static int forbid_open(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ? errno : 0;
}

static int fork_child(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        printf("child %d\n", (int)getpid());
        return 0;
    }
    return child < 0 || waitpid(child, &status, 0) != child ? 1 : status;
}

int main(void)
{
    char line[64];
    setvbuf(stdin, NULL, _IONBF, 0); /* a child reads what its parent has not yet read, and nothing twice */
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        int amount = atoi(line + strcspn(line, " \n")), r = 0, from = count;
        if (strncmp(line, "hold", 4) == 0 || strncmp(line, "live", 4) == 0)
            take(amount);
        if (line[0] == 'h')
            give(from, 1);
        if (strcmp(line, "drop\n") == 0) {
            give(0, 0);
            count = 0;
        }
        if (strncmp(line, "work", 4) == 0 || strncmp(line, "churn", 5) == 0)
            work(amount, line[0] == 'c' ? 64 : 0);
        if (strncmp(line, "hum", 3) == 0)
            r = start_hum(amount);
        if (strcmp(line, "fork\n") == 0)
            r = fork_child();
        if (strcmp(line, "seccomp\n") == 0)
            r = forbid_open();
        if (strcmp(line, "probe\n") == 0) /* how programs ask whether the kernel has filters */
            r = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 || errno != EFAULT;
        if (strcmp(line, "user\n") == 0)
            r = unshare(CLONE_NEWUSER) ? errno : 0;
        printf("%.*s: %d\n", (int)strcspn(line, "\n"), line, r);
    }
    return 0;
}
