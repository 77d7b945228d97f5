#include "procfs.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A piece of a text that nobody has terminated. */
struct procfs_span {
    const char *at, *end;
};

void procfs_memory_unknown(struct procfs_memory *m)
{
    m->anon = m->file = m->shmem = m->swap = m->locked = PROCFS_UNKNOWN;
    m->lazyfree = m->hugepages = m->pss_anon = m->threads = PROCFS_UNKNOWN;
}

static void procfs_skip_blanks(struct procfs_span *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
        s->at++;
}

/* A decimal number and what follows it, which has to be there: a text cut off behind "RssAnon: 35" of 3510 would
 * otherwise be read as a figure that is wrong and looks right. PROCFS_UNKNOWN where there is none or it is too large. */
static int64_t procfs_number(struct procfs_span *s)
{
    int64_t n = 0;

    procfs_skip_blanks(s);
    if (s->at == s->end || *s->at < '0' || *s->at > '9')
        return PROCFS_UNKNOWN;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s->at - '0', &n))
            return PROCFS_UNKNOWN;
    return s->at < s->end ? n : PROCFS_UNKNOWN;
}

/* The next line without its '\n'; a line that has none is cut off, and none. */
static bool procfs_line(struct procfs_span *text, struct procfs_span *line)
{
    const char *stop = text->at < text->end ? memchr(text->at, '\n', (size_t)(text->end - text->at)) : NULL;

    if (!stop)
        return false;
    line->at = text->at;
    line->end = stop + 1;
    text->at = stop + 1;
    return true;
}

/* Does the line begin with `word`? Then it is stepped over. */
static bool procfs_word(struct procfs_span *line, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(line->end - line->at) < n || memcmp(line->at, word, n) != 0)
        return false;
    line->at += n;
    return true;
}

/* "   3510 kB\n" in bytes. The kernel has written no other unit in these files. */
static int64_t procfs_kib(struct procfs_span line)
{
    int64_t n = procfs_number(&line), bytes;

    if (n == PROCFS_UNKNOWN || !procfs_word(&line, " kB\n") || __builtin_mul_overflow(n, 1024, &bytes))
        return PROCFS_UNKNOWN;
    return bytes;
}

/* A key of a text and the figure it sets. */
struct procfs_key {
    const char *key;
    size_t figure; /* offset in struct procfs_memory */
};

/* How many of the keys had a figure in this text. */
static unsigned procfs_keys(struct procfs_span text, const struct procfs_key *keys, size_t n, struct procfs_memory *m)
{
    struct procfs_span line;
    unsigned found = 0;

    while (procfs_line(&text, &line))
        for (size_t i = 0; i < n; i++) {
            struct procfs_span rest = line;
            if (!procfs_word(&rest, keys[i].key))
                continue;
            int64_t bytes = procfs_kib(rest);
            if (bytes != PROCFS_UNKNOWN) {
                memcpy((char *)m + keys[i].figure, &bytes, sizeof bytes);
                found++;
            }
        }
    return found;
}

int procfs_status(const char *text, size_t n, struct procfs_memory *m)
{
    static const struct procfs_key keys[] = {
        {"RssFile:", offsetof(struct procfs_memory, file)},
        {"RssShmem:", offsetof(struct procfs_memory, shmem)},
        {"VmSwap:", offsetof(struct procfs_memory, swap)},
        {"VmLck:", offsetof(struct procfs_memory, locked)},
    };
    static const struct procfs_key anon = {"RssAnon:", offsetof(struct procfs_memory, anon)};
    struct procfs_span all = {text, text + n}, line;

    /* The name comes first in every kernel, with its own newlines escaped, so that no program can fake a line. */
    if (n < sizeof "Name:" || memcmp(text, "Name:", sizeof "Name:" - 1) != 0)
        return -EINVAL;
    procfs_keys(all, keys, sizeof keys / sizeof *keys, m);
    for (struct procfs_span rest = all; procfs_line(&rest, &line);)
        if (procfs_word(&line, "Threads:")) {
            int64_t threads = procfs_number(&line);
            if (threads > 0)
                m->threads = threads;
        }
    return procfs_keys(all, &anon, 1, m) ? 0 : -ENODATA;
}

int procfs_smaps_rollup(const char *text, size_t n, struct procfs_memory *m)
{
    static const struct procfs_key keys[] = {
        {"LazyFree:", offsetof(struct procfs_memory, lazyfree)},
        {"AnonHugePages:", offsetof(struct procfs_memory, hugepages)},
        {"Pss_Anon:", offsetof(struct procfs_memory, pss_anon)},
    };
    static const char mark[] = "[rollup]\n";
    struct procfs_span all = {text, text + n}, head;

    if (!procfs_line(&all, &head))
        return -EINVAL;
    size_t length = (size_t)(head.end - head.at);
    if (length < sizeof mark || memcmp(head.end - (sizeof mark - 1), mark, sizeof mark - 1) != 0)
        return -EINVAL;
    return procfs_keys(all, keys, sizeof keys / sizeof *keys, m) ? 0 : -ENODATA;
}

int procfs_statm(const char *text, size_t n, int64_t page_size, struct procfs_memory *m)
{
    struct procfs_span s = {text, text + n};
    int64_t size = procfs_number(&s), resident = procfs_number(&s), shared = procfs_number(&s), bytes;

    if (size == PROCFS_UNKNOWN || resident == PROCFS_UNKNOWN || shared == PROCFS_UNKNOWN || shared > resident ||
        __builtin_mul_overflow(resident - shared, page_size, &bytes))
        return -EINVAL;
    /* A zombie and a kernel thread have no memory map: the line is all zeros, which is no figure of theirs. */
    if (size == 0)
        return -ENODATA;
    m->anon = bytes;
    return 0;
}

int procfs_stat_minflt(const char *text, size_t n, int64_t *minflt)
{
    struct procfs_span s = {text + n, text + n};
    int64_t value;

    while (s.at > text && s.at[-1] != ')') /* the name may hold any character, the fields behind it no ')' */
        s.at--;
    if (s.at == text || !memchr(text, '(', (size_t)(s.at - text)))
        return -EINVAL;
    for (int field = 3; field < 10; field++) { /* 3 is the state, a letter; tty and tpgid may be negative */
        procfs_skip_blanks(&s);
        while (s.at < s.end && *s.at != ' ')
            s.at++;
    }
    value = procfs_number(&s);
    if (value == PROCFS_UNKNOWN || *s.at != ' ')
        return -EINVAL;
    *minflt = value;
    return 0;
}

int64_t procfs_uncertain(const char *release, int cpus, int64_t threads, int64_t page_size)
{
    struct procfs_span s = {release, release + strlen(release) + 1};
    int64_t major = procfs_number(&s), minor, batch, pages;

    if (major == PROCFS_UNKNOWN || *s.at++ != '.' || (minor = procfs_number(&s)) == PROCFS_UNKNOWN)
        return PROCFS_UNKNOWN;
    if (major < 6 || (major == 6 && minor < 2)) {
        /* SPLIT_RSS_COUNTING (2.6.34 to 6.1): a thread keeps its changes to itself until its 64th page fault. */
        if (threads <= 0 || __builtin_mul_overflow(threads, 64, &pages))
            return PROCFS_UNKNOWN;
    } else if (major == 6 && minor < 17) {
        /* percpu_counter (6.2, "convert mm's rss stats into percpu_counter"), of which status reads the common part
         * only: each CPU keeps back less than a batch of max(32, 2 * CPUs) pages. Stable kernels of these series got
         * the exact sum in mid-2025; for those this is too careful, never too little. */
        if (cpus <= 0)
            return PROCFS_UNKNOWN;
        batch = cpus > 16 ? 2 * (int64_t)cpus : 32;
        pages = batch * cpus;
    } else {
        /* Measured on 6.18 (x86-64, 2 CPUs, one thread and two): of 400 pages touched one by one on alternating CPUs
         * each showed in status and in statm at once, none late. */
        return 0;
    }
    return __builtin_mul_overflow(pages, page_size, &pages) ? PROCFS_UNKNOWN : pages;
}
