#include "parse.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static const struct {
    const char *name;
    int number;
} parse_signals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},       {"QUIT", SIGQUIT},     {"ILL", SIGILL},   {"TRAP", SIGTRAP},
    {"ABRT", SIGABRT}, {"IOT", SIGIOT},       {"BUS", SIGBUS},       {"FPE", SIGFPE},   {"KILL", SIGKILL},
    {"USR1", SIGUSR1}, {"SEGV", SIGSEGV},     {"USR2", SIGUSR2},     {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},
    {"TERM", SIGTERM}, {"STKFLT", SIGSTKFLT}, {"CHLD", SIGCHLD},     {"CLD", SIGCHLD},  {"CONT", SIGCONT},
    {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},     {"TTIN", SIGTTIN},     {"TTOU", SIGTTOU}, {"URG", SIGURG},
    {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ},     {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH},
    {"IO", SIGIO},     {"POLL", SIGPOLL},     {"PWR", SIGPWR},       {"SYS", SIGSYS},
};
#define PARSE_SIGNALS (sizeof parse_signals / sizeof *parse_signals)
#define PARSE_LAST_SIGNAL 64

static char parse_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Does s begin with `word`? */
static bool parse_begins(const char *s, size_t n, const char *word)
{
    size_t length = strlen(word);

    if (n < length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (parse_upper(s[i]) != parse_upper(word[i]))
            return false;
    return true;
}

bool parse_is(const char *s, size_t n, const char *word)
{
    return n == strlen(word) && parse_begins(s, n, word);
}

int parse_switch(const char *s, size_t n)
{
    static const char *const words[2][4] = {{"off", "no", "false", "0"}, {"on", "yes", "true", "1"}};

    for (int on = 0; on < 2; on++)
        for (size_t i = 0; i < 4; i++)
            if (parse_is(s, n, words[on][i]))
                return on;
    return -EINVAL;
}

/* One or two digits, or -1: no signal has more. */
static int parse_small(const char *s, size_t n)
{
    int value = 0;

    if (n < 1 || n > 2)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return -1;
        value = value * 10 + (s[i] - '0');
    }
    return value;
}

/* The number behind RTMIN[+n] or RTMAX[-n], -1 when it is neither or lies outside. */
static int parse_real_time(const char *s, size_t n)
{
    bool from_least = parse_begins(s, n, "RTMIN");
    int offset = 0;

    if (!from_least && !parse_begins(s, n, "RTMAX"))
        return -1;
    if (n > 5) {
        offset = s[5] == (from_least ? '+' : '-') ? parse_small(s + 6, n - 6) : -1;
        if (offset < 0)
            return -1;
    }
    offset = from_least ? SIGRTMIN + offset : SIGRTMAX - offset;
    return offset >= SIGRTMIN && offset <= SIGRTMAX ? offset : -1;
}

/* Why a signal that exists is not one for us; NULL: it is. */
static const char *parse_refusal(int number)
{
    switch (number) {
    case SIGKILL:
    case SIGSTOP: return "a signal that can be caught, which KILL and STOP cannot";
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
        /* A handler that returns from these makes the program repeat the fault for ever. */
        return "a signal that others send; SEGV, BUS, FPE, ILL, TRAP and SYS answer a fault of the program itself";
    default:
        /* glibc cancels threads and hands setuid to them with these two, and refuses sigaction for them. */
        if (number > 31 && number < SIGRTMIN)
            return "a signal that libc leaves to programs; those between 31 and RTMIN are its own";
        return NULL;
    }
}

int parse_signal(const char *s, size_t n, const char **expected)
{
    int number;

    *expected = "a signal's name, RTMIN+n, RTMAX-n, a number from 1 to 64, or none";
    if (parse_is(s, n, "none"))
        return 0;
    number = parse_small(s, n);
    if (number < 0) {
        if (parse_begins(s, n, "SIG")) {
            s += 3;
            n -= 3;
        }
        number = parse_real_time(s, n);
        for (size_t i = 0; i < PARSE_SIGNALS && number < 0; i++)
            if (parse_is(s, n, parse_signals[i].name))
                number = parse_signals[i].number;
    }
    if (number < 1 || number > PARSE_LAST_SIGNAL)
        return -EINVAL;
    const char *refusal = parse_refusal(number);
    if (!refusal)
        return number;
    *expected = refusal;
    return -EINVAL;
}

const char *parse_signal_name(int number)
{
    for (size_t i = 0; i < PARSE_SIGNALS; i++)
        if (parse_signals[i].number == number)
            return parse_signals[i].name;
    return NULL;
}

/* Digits, up to 2^62; *used of them. -EINVAL: none, or more than that. */
static int64_t parse_digits(const char *s, size_t n, size_t *used)
{
    int64_t value = 0;

    for (*used = 0; *used < n && s[*used] >= '0' && s[*used] <= '9'; ++*used)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, s[*used] - '0', &value))
            return -EINVAL;
    return *used ? value : -EINVAL;
}

static int64_t parse_scaled(int64_t value, int64_t scale)
{
    int64_t result;

    return value <= 0 || __builtin_mul_overflow(value, scale, &result) || result > INT64_C(1) << 62 ? -EINVAL : result;
}

int64_t parse_size(const char *s, size_t n)
{
    static const char units[] = "KMGT";
    size_t used;
    int64_t value = parse_digits(s, n, &used), scale = 1;

    s += used;
    n -= used;
    for (size_t i = 0; n && i < sizeof units - 1; i++)
        if (parse_upper(*s) == units[i]) {
            scale = INT64_C(1) << (10 * (i + 1));
            s++;
            n--;
            if (parse_is(s, n, "B") || parse_is(s, n, "iB"))
                n = 0;
            break;
        }
    return n ? -EINVAL : parse_scaled(value, scale);
}

int64_t parse_time(const char *s, size_t n)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"", 1000000000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
    size_t used;
    int64_t value = parse_digits(s, n, &used);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (parse_is(s + used, n - used, units[i].name))
            return parse_scaled(value, units[i].ns);
    return -EINVAL;
}

bool parse_item(const char **list, const char **item, size_t *n)
{
    static const char separators[] = ",; \t\n";

    *item = *list + strspn(*list, separators);
    *n = strcspn(*item, separators);
    *list = *item + *n;
    return *n > 0;
}

unsigned parse_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned row[PARSE_FAR + 1]; /* distances of what of `a` has been seen to each beginning of `b` */

    if (a_length > PARSE_FAR || b_length > PARSE_FAR)
        return PARSE_FAR;
    for (unsigned j = 0; j <= b_length; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned corner = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            unsigned change = corner + (parse_upper(a[i - 1]) != parse_upper(b[j - 1]));
            unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = change < other ? change : other;
        }
    }
    return row[b_length];
}
