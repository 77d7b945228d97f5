/* latency LIBRARY HOSTS: from kill() until the release makes its first call, in a host that waits and in one that computes.
 *
 * The host is this program again, under LIBRARY, with GIVEBACK_CALL naming a function of its own, which the release
 * calls before any allocator. HOSTS hosts of each kind are asked twice: the first signal finds no worker, the second one
 * that still waits. Prints a line for each: KIND WHICH, then lower quartile, median and upper quartile in ns. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

void latency_stamp(void)
{
    long stamp = now();
    if (write(STDOUT_FILENO, &stamp, sizeof stamp) != sizeof stamp)
        _exit(1);
}

static int host(int computes)
{
    volatile double sum = 0;
    long ready = 0;

    if (write(STDOUT_FILENO, &ready, sizeof ready) != sizeof ready)
        return 1;
    for (double x = 1; computes; x++)
        sum += 1 / (x * x);
    for (;;)
        pause();
}

static long read_stamp(int from, const char *what)
{
    long stamp;
    if (read(from, &stamp, sizeof stamp) != sizeof stamp)
        exit((fprintf(stderr, "latency: the host has ended before it was %s\n", what), 1));
    return stamp;
}

static void measure(const char *self, const char *library, const char *kind, long *first, long *again)
{
    int out[2];
    char preload[4096];

    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    if (pipe(out) < 0)
        exit((perror("latency: pipe"), 1));
    pid_t pid = fork();
    if (pid == 0) {
        char *environment[] = {preload, "GIVEBACK_CALL=latency_stamp", "GIVEBACK_LOG=none", NULL};
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        execle(self, self, "--host", kind, NULL, environment);
        _exit(127);
    }
    close(out[1]);
    read_stamp(out[0], "ready");
    for (int i = 0; i < 2; i++) {
        long start = now();
        kill(pid, SIGUSR1);
        *(i ? again : first) = read_stamp(out[0], "asked") - start;
        nanosleep(&(struct timespec){0, 200000000}, NULL); /* the release is over, its worker still waits */
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(out[0]);
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
        return host(strcmp(argv[2], "computing") == 0);
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
