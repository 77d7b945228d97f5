/* parsers [N [FIRST]]: runs N inputs (default 200000), numbered from FIRST. An input depends on its number alone, so
 * that `parsers 1 NUMBER` repeats one that failed.
 *
 * libFuzzer brings its own main and lets coverage lead: compile parsers.c, without this file and seeds.c, and all of lib
 * with clang -g -O1 -D_GNU_SOURCE -iquote lib -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined. */
#include "fuzz.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "seeds.h"

struct input {
    char data[FUZZ_INPUT_MAX];
    size_t n;
};

static uint64_t state; /* of the random numbers (splitmix64) */
static volatile unsigned long current;

static size_t random_below(size_t n)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return n ? (size_t)((z ^ (z >> 31)) % n) : 0;
}

/* n bytes of `from` in place of `old` bytes at `at`; what would be too long is left as it is. */
static void splice(struct input *in, size_t at, size_t old, const char *from, size_t n)
{
    if (in->n - old + n > sizeof in->data)
        return;
    memmove(in->data + at + n, in->data + at + old, in->n - at - old);
    memcpy(in->data + at, from, n);
    in->n = in->n - old + n;
}

static void mutate(struct input *in)
{
    static const char odd[] = {0,    ' ', '\n', '\t', ':', '%',  '*',        '[',       ']',
                               '\\', '-', '9',  'k',  1,   0x7f, (char)0x80, (char)0xff};
    struct input other;
    size_t at = random_below(in->n + 1), length = random_below(in->n - at + 1);
    const char *word = seeds_words[random_below(seeds_n_words)];
    char byte = odd[random_below(sizeof odd)];

    switch (random_below(8)) {
    case 0:
        if (in->n)
            in->data[at % in->n] ^= (char)(1 << random_below(8));
        break;
    case 1: splice(in, at, at < in->n, &byte, 1); break;
    case 2: splice(in, at, 0, &byte, 1); break;
    case 3: splice(in, at, length, "", 0); break;
    case 4: splice(in, at, 0, word, strlen(word)); break;
    case 5: splice(in, at, length < 12 ? length : 12, word, strlen(word)); break;
    case 6:
        other = *in;
        splice(in, at, 0, other.data + at, length);
        break;
    default:
        other.n = seeds_one(random_below(fuzz_n_targets), random_below(1000), other.data, sizeof other.data);
        splice(in, at, length, other.data, random_below(other.n + 1));
        break;
    }
}

static void run(unsigned long number)
{
    static struct input in;
    size_t target = number % fuzz_n_targets;

    state = number * 31 + 7;
    in.n = seeds_one(target, random_below(1000), in.data, sizeof in.data);
    for (size_t rounds = random_below(9); rounds; rounds--)
        mutate(&in);
    char *exact = malloc(in.n + !in.n);
    FUZZ_HOLDS(exact != NULL);
    memcpy(exact, in.data, in.n);
    fuzz_targets[target].run(exact, in.n);
    free(exact);
}

/* Says which input it was. SIGALRM: one took a minute. */
static void failed(int number)
{
    char line[128];
    int n = snprintf(line, sizeof line, "fuzz: signal %d in input %lu (%s)\n0 passed, 1 failed\n", number, current,
                     fuzz_targets[current % fuzz_n_targets].name);

    (void)!write(STDOUT_FILENO, line, (size_t)n);
    _exit(1);
}

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000, first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)signal(signals[i], failed);
    for (current = first; current < first + n; current++) {
        if (current % 1024 == 0)
            (void)alarm(60);
        run(current);
    }
    printf("fuzz: %lu inputs over %zu parsers\n%zu passed, 0 failed\n", n, fuzz_n_targets,
           n < fuzz_n_targets ? (size_t)n : fuzz_n_targets);
    return 0;
}
