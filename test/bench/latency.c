/* latency LIBRARY HOSTS: from kill() until the release makes its first call, in a host that waits and in one that computes.
 *
 * The host is this program again, under LIBRARY, with GIVEBACK_CALL naming a function of its own, which the release
 * calls before any allocator. HOSTS hosts of each kind are asked twice: the first signal finds no worker, the second one
 * that still waits. Prints a line for each: KIND WHICH, then lower quartile, median and upper quartile in ns. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void latency_stamp(void);

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* The host's stdout is a file in memory that both have mapped: the release runs on a thread without descriptors. */
static volatile struct shared {
    int ready;
    int calls;
    long stamp;
} *shared;

static void map(int fd)
{
    void *at = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        exit((perror("latency: mmap"), 1));
    shared = at;
}

void latency_stamp(void)
{
    shared->stamp = now();
    __atomic_add_fetch(&shared->calls, 1, __ATOMIC_SEQ_CST);
}

static _Noreturn void host(int computes)
{
    volatile double sum = 0;

    map(STDOUT_FILENO);
    __atomic_store_n(&shared->ready, 1, __ATOMIC_SEQ_CST);
    for (double x = 1; computes; x++)
        sum += 1 / (x * x);
    for (;;)
        pause();
}

static void wait_for(volatile int *word, int value, pid_t pid)
{
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            exit((fprintf(stderr, "latency: the host has ended too early\n"), 1));
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

static pid_t start(const char *self, const char *library, const char *kind)
{
    int file = memfd_create("latency", 0);
    char preload[4096];

    if (file < 0 || ftruncate(file, sizeof *shared) < 0)
        exit((perror("latency: memfd_create"), 1));
    map(file);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    pid_t pid = fork();
    if (pid == 0) {
        char *environment[] = {preload, "GIVEBACK_CALL=latency_stamp", "GIVEBACK_LOG=none", NULL};
        dup2(file, STDOUT_FILENO);
        execle(self, self, "--host", kind, NULL, environment);
        _exit(127);
    }
    close(file);
    wait_for(&shared->ready, 1, pid);
    return pid;
}

static void measure(const char *self, const char *library, const char *kind, long *first, long *again)
{
    pid_t pid = start(self, library, kind);

    for (int i = 0; i < 2; i++) {
        /* It has come to rest; and the first worker, which stays for a while, has done its work. */
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        long asked = now();
        kill(pid, SIGUSR1);
        wait_for(&shared->calls, i + 1, pid);
        *(i ? again : first) = shared->stamp - asked;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap((void *)shared, sizeof *shared);
}

static int ascending(const void *a, const void *b)
{
    long left = *(const long *)a, right = *(const long *)b;
    return (left > right) - (left < right);
}

static void print(const char *kind, const char *which, long *ns, size_t n)
{
    qsort(ns, n, sizeof *ns, ascending);
    printf("%s %s %ld %ld %ld\n", kind, which, ns[n / 4], ns[n / 2], ns[n * 3 / 4]);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--host") == 0)
        host(strcmp(argv[2], "computing") == 0);
    size_t hosts = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (hosts < 1)
        exit((fprintf(stderr, "usage: latency LIBRARY HOSTS\n"), 2));
    long *first = calloc(hosts, sizeof *first), *again = calloc(hosts, sizeof *again);
    const char *const kinds[] = {"idle", "computing"};
    for (size_t kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < hosts; i++)
            measure(argv[0], argv[1], kinds[kind], &first[i], &again[i]);
        print(kinds[kind], "first", first, hosts);
        print(kinds[kind], "again", again, hosts);
    }
    free(first);
    free(again);
    return 0;
}
