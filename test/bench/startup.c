/* startup ROUNDS LABEL=LIBRARY[,NAME=VALUE]...: time of one start and end of `true` under each of several environments.
 *
 * The arms take turns within each round, so that whatever else the machine does meets all of them alike. Prints a line
 * for each: LABEL, then the lower quartile, the median and the upper quartile in ns. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define ARMS 8
#define PROGRAM "/bin/true"

struct arm {
    char *label;
    char *environment[4];
    long *ns;
};

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* LABEL=LIBRARY[,NAME=VALUE]; without a library nothing is preloaded */
static void arm_read(struct arm *arm, char *text, size_t rounds)
{
    char *library = strchr(text, '='), *variable, *preload = NULL;

    if (!library)
        exit((fprintf(stderr, "startup: \"%s\": expected LABEL=LIBRARY[,NAME=VALUE]\n", text), 2));
    *library++ = 0;
    if ((variable = strchr(library, ',')))
        *variable++ = 0;
    arm->label = text;
    size_t n = 0;
    if (*library && asprintf(&preload, "LD_PRELOAD=%s", library) > 0)
        arm->environment[n++] = preload;
    if (variable)
        arm->environment[n++] = variable;
    arm->ns = calloc(rounds, sizeof *arm->ns);
}

static long start_once(const struct arm *arm)
{
    char *argv[] = {PROGRAM, NULL};
    pid_t pid;
    int status, error;
    long start = now();

    error = posix_spawn(&pid, PROGRAM, NULL, NULL, argv, arm->environment);
    if (error || waitpid(pid, &status, 0) < 0 || status)
        exit((fprintf(stderr, "startup: %s: %s did not run: %s\n", arm->label, PROGRAM, strerror(error ? error : errno)), 1));
    return now() - start;
}

static int ascending(const void *a, const void *b)
{
    long left = *(const long *)a, right = *(const long *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
    struct arm arms[ARMS];
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, n = argc > 2 ? (size_t)argc - 2 : 0;

    memset(arms, 0, sizeof arms);
    if (rounds < 4 || n < 1 || n > ARMS)
        exit((fprintf(stderr, "usage: startup ROUNDS LABEL=LIBRARY[,NAME=VALUE]... (at least 4, at most %d)\n", ARMS), 2));
    for (size_t i = 0; i < n; i++)
        arm_read(&arms[i], argv[i + 2], rounds);
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < n; i++)
            arms[(i + round) % n].ns[round] = start_once(&arms[(i + round) % n]);
    for (size_t i = 0; i < n; i++) {
        qsort(arms[i].ns, rounds, sizeof *arms[i].ns, ascending);
        printf("%s %ld %ld %ld\n", arms[i].label, arms[i].ns[rounds / 4], arms[i].ns[rounds / 2], arms[i].ns[rounds * 3 / 4]);
    }
    return 0;
}
