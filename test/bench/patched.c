/* patched munmap|other|line|bulk [CALLS]: nanoseconds of processor time of one call, the median of eleven passes: munmap of a place where nothing is,
 * write of a line of 100 bytes to a descriptor that is not stdout, and to stdout, and of 128 KiB of such lines there. Stdout is to be
 * /dev/null. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static char line[100] = "INFO 07-14 18:45:24 core.py:171 request cmpl-8a2f from 127.0.0.1 has 1024 prompt tokens, 17 are new";
static char bulk[131072];
static void *nothing;
static int other;

static void call(char what)
{
    if (what == 'm')
        (void)munmap(nothing, 4096);
    else if (what == 'b' && write(1, bulk, sizeof bulk) != (ssize_t)sizeof bulk)
        _exit(1);
    else if (what != 'b' && write(what == 'l' ? 1 : other, line, sizeof line) != (ssize_t)sizeof line)
        _exit(1);
}

static double pass(char what, long n)
{
    struct timespec from, to;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (long i = 0; i < n; i++)
        call(what);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / (double)n;
}

static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
    char what = argc > 1 ? argv[1][0] : 'm';
    long n = argc > 2 ? atol(argv[2]) : 200000;
    double ns[11];

    line[sizeof line - 1] = '\n';
    for (size_t i = 0; i < sizeof bulk; i++)
        bulk[i] = line[i % sizeof line];
    other = open("/dev/zero", O_WRONLY | O_CLOEXEC); /* another file than stdout, or it would be a copy of that */
    nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 11; i++)
        ns[i] = pass(what, n);
    qsort(ns, 11, sizeof *ns, compare);
    fprintf(stderr, "%.2f\n", ns[5]);
    return 0;
}
