#include "fuzz.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "../json.h"
#include "ehframe.h"
#include "elffile.h"
#include "event.h"
#include "glob.h"
#include "insn_aarch64.h"
#include "insn_around.h"
#include "insn_x86_64.h"
#include "json.h"
#include "line.h"
#include "match.h"
#include "metrics.h"
#include "options.h"
#include "parse.h"
#include "preload.h"
#include "pressure.h"
#include "procfs.h"
#include "reason.h"
#include "record.h"
#include "text.h"

/* The input as a string of the heap's, up to its first NUL. */
static char *fuzz_string(const char *data, size_t n)
{
    size_t length = strnlen(data, n);
    char *s = malloc(length + 1);

    FUZZ_HOLDS(s != NULL);
    memcpy(s, data, length);
    s[length] = '\0';
    return s;
}

/* Two strings with a NUL between them. */
static void fuzz_strings(const char *data, size_t n, char **first, char **second)
{
    size_t length = strnlen(data, n);

    *first = fuzz_string(data, n);
    *second = length < n ? fuzz_string(data + length + 1, n - length - 1) : fuzz_string("", 0);
}

static bool fuzz_is_printable(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return false;
    return true;
}

static void fuzz_memory_holds(const struct procfs_memory *m)
{
    FUZZ_HOLDS(m->anon >= PROCFS_UNKNOWN && m->file >= PROCFS_UNKNOWN && m->shmem >= PROCFS_UNKNOWN);
    FUZZ_HOLDS(m->swap >= PROCFS_UNKNOWN && m->locked >= PROCFS_UNKNOWN && m->lazyfree >= PROCFS_UNKNOWN);
    FUZZ_HOLDS(m->hugepages >= PROCFS_UNKNOWN && m->pss_anon >= PROCFS_UNKNOWN && m->threads != 0);
}

static void fuzz_procfs(const char *data, size_t n)
{
    struct procfs_memory m;
    int64_t minflt = PROCFS_UNKNOWN;
    int result;

    procfs_memory_unknown(&m);
    result = procfs_status(data, n, &m);
    fuzz_memory_holds(&m);
    FUZZ_HOLDS(result == 0 ? m.anon != PROCFS_UNKNOWN : (result == -EINVAL || result == -ENODATA));
    FUZZ_HOLDS(m.lazyfree == PROCFS_UNKNOWN && m.pss_anon == PROCFS_UNKNOWN);
    procfs_memory_unknown(&m);
    result = procfs_smaps_rollup(data, n, &m);
    fuzz_memory_holds(&m);
    FUZZ_HOLDS(m.anon == PROCFS_UNKNOWN && (result == 0 || result == -EINVAL || result == -ENODATA));
    procfs_memory_unknown(&m);
    result = procfs_statm(data, n, 4096, &m);
    fuzz_memory_holds(&m);
    FUZZ_HOLDS((m.anon != PROCFS_UNKNOWN) == (result == 0));
    result = procfs_stat_minflt(data, n, &minflt);
    FUZZ_HOLDS((minflt >= 0) == (result == 0));
}

static void fuzz_uncertain(const char *data, size_t n)
{
    char *release = fuzz_string(data, n);

    for (int cpus = 0; cpus < 200; cpus += 50)
        FUZZ_HOLDS(procfs_uncertain(release, cpus, cpus, 4096) >= PROCFS_UNKNOWN);
    free(release);
}

static void fuzz_complaint(void *context, const char *line)
{
    (*(unsigned *)context)++;
    FUZZ_HOLDS(strncmp(line, OPTION_PREFIX, strlen(OPTION_PREFIX)) == 0);
    FUZZ_HOLDS(fuzz_is_printable(line) && strlen(line) < 300 && strstr(line, "expected "));
}

/* A list that was read once is clean: read again it is the same, and nothing is complained of. */
static void fuzz_list_is_clean(enum option_id id, const char *list)
{
    static struct settings again;
    char line[512];
    struct text t;

    text_init(&t, line, sizeof line);
    FUZZ_HOLDS(strlen(list) <= OPTION_VALUE_MAX);
    memset(&again, 0, sizeof again);
    FUZZ_HOLDS(options_set(&again, id, list, &t) == 0 || id != OPTION_CALL);
    FUZZ_HOLDS(strcmp(id == OPTION_CALL ? again.call : id == OPTION_ONLY ? again.only : again.skip, list) == 0);
}

/* The input is an environment, with a NUL behind each variable. */
static void fuzz_options(const char *data, size_t n)
{
    static struct settings s;
    char *environment[65];
    size_t count = 0;
    unsigned complaints = 0;

    for (size_t at = 0; at < n && count < 64; at += strlen(environment[count++]) + 1)
        environment[count] = fuzz_string(data + at, n - at);
    environment[count] = NULL;
    options_read(&s, environment, fuzz_complaint, &complaints);
    FUZZ_HOLDS(options_off(environment) == !s.on);
    FUZZ_HOLDS(s.signal >= 0 && s.signal <= 64 && s.signal != SIGKILL && s.signal != SIGSTOP && s.signal != SIGSEGV);
    FUZZ_HOLDS(s.log != OPTION_LOG_PATH || (*s.log_path && strlen(s.log_path) <= OPTION_VALUE_MAX));
    char path[2 * OPTION_VALUE_MAX];
    if (s.log == OPTION_LOG_PATH)
        FUZZ_HOLDS(preload_expand(s.log_path, 1, "x", path, sizeof path) == 0);
    fuzz_list_is_clean(OPTION_CALL, s.call);
    fuzz_list_is_clean(OPTION_ONLY, s.only);
    fuzz_list_is_clean(OPTION_SKIP, s.skip);
    for (size_t i = 0; i < count; i++)
        free(environment[i]);
}

static void fuzz_glob(const char *data, size_t n)
{
    char *pattern, *name;

    fuzz_strings(data, n, &pattern, &name);
    bool match = glob_match(pattern, name), in_list = glob_match_list(pattern, name);
    if (*pattern && !strpbrk(pattern, ",; \t\n"))
        FUZZ_HOLDS(match == in_list);
    FUZZ_HOLDS(glob_match("*", name));
    if (!strpbrk(name, "*?[\\"))
        FUZZ_HOLDS(glob_match(name, name));
    free(pattern);
    free(name);
}

/* The next entry of LD_PRELOAD, as a pointer and a length; false: none. */
static bool fuzz_entry(const char **at, size_t *n)
{
    *at += strspn(*at, " :");
    *n = strcspn(*at, " :");
    return *n > 0;
}

static void fuzz_preload(const char *data, size_t n)
{
    char *value, *own;

    fuzz_strings(data, n, &value, &own);
    char *before = fuzz_string(value, strlen(value));
    unsigned dropped = preload_drop(value, own), own_entries = 0;
    const char *old = before, *new = value;
    for (size_t length, kept; fuzz_entry(&old, &length); old += length) {
        if (preload_entry_is(old, length, own)) {
            own_entries++;
            continue;
        }
        FUZZ_HOLDS(fuzz_entry(&new, &kept) && kept == length && memcmp(old, new, length) == 0);
        new += kept;
    }
    size_t left;
    FUZZ_HOLDS(!fuzz_entry(&new, &left));
    FUZZ_HOLDS(dropped == own_entries && (dropped || strcmp(before, value) == 0));
    free(before);
    free(value);
    free(own);
}

static void fuzz_expand(const char *data, size_t n)
{
    char *pattern, *program, out[64];

    fuzz_strings(data, n, &pattern, &program);
    int result = preload_expand(pattern, 4242, program, out, sizeof out);
    FUZZ_HOLDS(result == 0 || result == -EINVAL || result == -ENAMETOOLONG);
    FUZZ_HOLDS(strlen(out) < sizeof out);
    free(pattern);
    free(program);
}

/* A record whose figures and names are the input's bytes, again and again from the start when they run out. */
static void fuzz_fill(struct record *r, const char *data, size_t n)
{
    unsigned char *to = (unsigned char *)r;

    for (size_t i = 0; i < sizeof *r; i++)
        to[i] = (unsigned char)(n ? data[i % n] : 0);
    r->n_allocators %= RECORD_ALLOCATORS + 1;
    r->action = r->pid & 1 ? RECORD_MARK : RECORD_RELEASE;
    if (r->pid & 2)
        procfs_memory_unknown(&r->before);
    r->time_ms %= INT64_C(253402300800000); /* up to the year 9999, since 1970 or before it */
    r->ns &= INT64_MAX;
    int64_t *memory[] = {&r->before.anon, &r->after.anon, &r->before.locked, &r->after.locked, &r->after.lazyfree};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (*memory[i] < 0)
            *memory[i] = PROCFS_UNKNOWN;
    for (unsigned i = 0; i < RECORD_ALLOCATORS; i++) {
        struct record_allocator *a = &r->allocator[i];
        a->name[sizeof a->name - 1] = a->version[sizeof a->version - 1] = '\0';
        a->object[sizeof a->object - 1] = a->call[sizeof a->call - 1] = '\0';
        if (a->returned > INT64_MAX / RECORD_ALLOCATORS)
            a->returned = 1;
    }
}

/* Each line is a comment or one sample, whose labels' values end where their quotes do. */
static void fuzz_metrics(const struct record *r, const char *program)
{
    static struct metrics m;
    static char text[METRICS_MAX];
    char *line = text, *end;

    metrics_start(&m);
    metrics_count(&m, r, (unsigned)r->pid % METRICS_KINDS, r->pid & 1, r->pid & 2);
    char *name = fuzz_string(program, strnlen(program, 63));
    FUZZ_HOLDS(metrics_text(&m, name, r->pid, text, sizeof text) == strlen(text));
    for (; (end = strchr(line, '\n')); line = end + 1) {
        bool quoted = false;
        *end = '\0';
        FUZZ_HOLDS(fuzz_is_printable(line));
        if (*line == '#')
            continue;
        FUZZ_HOLDS(strncmp(line, "giveback_", 9) == 0 && end[-1] >= '0' && end[-1] <= '9');
        for (const char *c = line; *c; c++)
            if (quoted && *c == '\\')
                FUZZ_HOLDS(*++c && strchr("n\"\\", *c));
            else if (*c == '"')
                quoted = !quoted;
            else
                FUZZ_HOLDS(quoted || strchr(" {},=_.-", *c) || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9'));
        FUZZ_HOLDS(!quoted);
    }
    FUZZ_HOLDS(!*line);
    free(name);
}

static void fuzz_record(const char *data, size_t n)
{
    static struct record r;
    char *label, *event, line[RECORD_MAX], sentence[160];

    fuzz_strings(data, n, &label, &event);
    fuzz_fill(&r, data, n);
    r.label = r.pid & 4 ? label : NULL;
    r.event = r.pid & 8 ? event : NULL;
    r.program = r.pid & 16 ? event : label;
    r.reason = NULL;
    r.reason = reason_find(&r, r.pid & 32, r.pid & 64 ? label : NULL, sentence, sizeof sentence);
    FUZZ_HOLDS(!r.reason || (r.reason == sentence && *sentence && strlen(sentence) < sizeof sentence - 1));
    size_t length = record_json(&r, line, sizeof line);
    FUZZ_HOLDS(length == strlen(line) && json_line(line));
    length = record_text(&r, line, sizeof line);
    FUZZ_HOLDS(length == strlen(line) && line[length - 1] == '\n');
    line[length - 1] = '\0';
    FUZZ_HOLDS(fuzz_is_printable(line));
    fuzz_metrics(&r, label);
    free(label);
    free(event);
}

static void fuzz_signal(const char *data, size_t n)
{
    const char *expected = NULL;
    int number = parse_signal(data, n, &expected);
    char name[16];

    FUZZ_HOLDS(expected && (number == -EINVAL || (number >= 0 && number <= 64)));
    if (number >= 0) {
        options_signal_name(number, name, sizeof name);
        FUZZ_HOLDS(parse_signal(name, strlen(name), &expected) == number);
    }
    size_t half = n / 2;
    FUZZ_HOLDS(parse_size(data, n) > 0 || parse_size(data, n) == -EINVAL);
    FUZZ_HOLDS(parse_time(data, n) > 0 || parse_time(data, n) == -EINVAL);
    FUZZ_HOLDS(parse_distance(data, half, data + half, n - half) == parse_distance(data + half, n - half, data, half));
}

static void fuzz_text(const char *data, size_t n)
{
    char *s = fuzz_string(data + (n > 1), n - (n > 1)), line[4 * FUZZ_INPUT_MAX + 16], small[40];
    size_t limit = n ? 2 + (unsigned char)data[0] % 37 : 2;
    struct text t;

    text_init(&t, line, sizeof line);
    text_str(&t, "{\"k\":");
    text_json(&t, s, sizeof line);
    text_str(&t, "}\n");
    FUZZ_HOLDS(json_line(line));
    text_init(&t, small, sizeof small);
    text_json(&t, s, limit);
    FUZZ_HOLDS(t.len <= limit && small[t.len - 1] == '"');
    text_init(&t, line, sizeof line);
    text_printable(&t, s, sizeof line);
    FUZZ_HOLDS(fuzz_is_printable(line) && !t.cut);
    free(s);
}

struct fuzz_file {
    const char *data;
    size_t n;
};

static long fuzz_read(void *context, void *buffer, size_t n, uint64_t offset)
{
    const struct fuzz_file *file = context;

    if (offset >= file->n)
        return 0;
    if (n > file->n - offset)
        n = file->n - (size_t)offset;
    memcpy(buffer, file->data + offset, n);
    return (long)n;
}

/* What was read is within its bounds, names a function, and is the same when it is only checked. */
static void fuzz_event(const char *data, size_t n)
{
    static struct event events[EVENT_MAX];
    char *value = fuzz_string(data, n), line[256], again[256];
    const char *module, *function;
    struct event_native native;
    char path[2 * EVENT_ARGUMENT_MAX];
    struct text t, u;
    size_t length;

    text_init(&t, line, sizeof line);
    text_init(&u, again, sizeof again);
    size_t good = event_read(events, EVENT_MAX, value, &t);
    FUZZ_HOLDS(good <= EVENT_MAX && good == event_read(NULL, EVENT_MAX, value, &u) && strcmp(line, again) == 0);
    FUZZ_HOLDS(fuzz_is_printable(line) && (!line[0] || strstr(line, ": expected ")));
    for (size_t i = 0; i < good; i++) {
        const struct event *e = &events[i];
        FUZZ_HOLDS(e->kind < EVENT_KINDS && (e->action == RECORD_RELEASE || e->action == RECORD_MARK));
        FUZZ_HOLDS(strnlen(e->label, sizeof e->label) < sizeof e->label);
        if (event_table[e->kind].takes == EVENT_TAKES_PATH)
            FUZZ_HOLDS((!e->argument[0] && e->kind == EVENT_SOCKET) || preload_expand(e->argument, 1, "x", path, sizeof path) == 0);
        else if (event_table[e->kind].takes == EVENT_TAKES_TEXT)
            FUZZ_HOLDS(e->argument[0] && !strchr(e->argument, '\n'));
        else if (event_table[e->kind].takes != EVENT_TAKES_TARGET)
            FUZZ_HOLDS(e->amount > 0 || event_table[e->kind].argument[0] == '[' || !event_table[e->kind].argument[0]);
        else if (strncmp(e->argument, "py:", 3) == 0)
            FUZZ_HOLDS(event_python_target(e->argument, &module, &length, &function) == 0 && length && *function);
        else
            FUZZ_HOLDS(event_native_target(e->argument, &native) == 0 && native.symbol[0] && native.stack && native.stack % 16 == 0);
        const char *colon = strchr(e->name, ':');
        FUZZ_HOLDS(strcmp(colon ? colon + 1 : "", e->argument) == 0);
    }
    free(value);
}

/* A label is text, and the same however the bytes come; there is one line for each end of one. */
static void fuzz_line(const char *data, size_t n)
{
    struct line whole = {.n = 0}, pieces = {.n = 0};
    char label[EVENT_LABEL_MAX] = "", again[EVENT_LABEL_MAX] = "";
    size_t lines = line_feed(&whole, data, n, label), ends = 0, sum = 0;

    for (size_t i = 0; i < n; i++) {
        ends += data[i] == '\n';
        sum += line_feed(&pieces, data + i, 1, again);
    }
    FUZZ_HOLDS(lines == ends && sum == ends && strcmp(label, again) == 0 && whole.n == pieces.n);
    FUZZ_HOLDS(fuzz_is_printable(label));
}

/* What the strict reader of the tests takes for a line of JSON is an object here too. */
static void fuzz_json(const char *data, size_t n)
{
    char *line = fuzz_string(data, n), word[16], label[EVENT_LABEL_MAX];
    struct json_field fields[] = {{"do", word, sizeof word, JSON_ABSENT}, {"label", label, sizeof label, JSON_ABSENT}};
    int none = json_read(data, n, NULL, 0), result = json_read(data, n, fields, 2);

    FUZZ_HOLDS(none == 0 || none == -EINVAL);
    FUZZ_HOLDS(result == none || (!none && (result == -EINVAL || result == -ENAMETOOLONG)));
    FUZZ_HOLDS(strlen(word) < sizeof word && strlen(label) < sizeof label);
    FUZZ_HOLDS(strstr(line, "\\u") || !json_line(line) || json_read(line, strlen(line), NULL, 0) == 0); /* of pairs of surrogates it knows nothing */
    free(line);
}

/* The pieces stand in the value one behind the other, and an argument within its item. */
static void fuzz_pieces(const char *data, size_t n)
{
    char *value = fuzz_string(data, n), text[64];
    const char *rest = value, *end = value;
    struct event_piece item, argument;
    enum event_kind kind;

    while (event_next(&rest, &item, &kind, &argument, text, sizeof text)) {
        FUZZ_HOLDS(item.n && item.at >= end && item.at + item.n <= rest && rest <= value + strlen(value));
        FUZZ_HOLDS(argument.at >= item.at && argument.at + argument.n <= item.at + item.n);
        FUZZ_HOLDS(kind <= EVENT_KINDS && strlen(text) <= argument.n && (kind < EVENT_KINDS || !*text));
        end = item.at + item.n;
    }
    FUZZ_HOLDS(!item.n && !*rest);
    free(value);
}

/* Any bytes as code, and as tables of unwinding: what is read lies in them. */
static void fuzz_code(const char *data, size_t n)
{
    const size_t head = 4;
    const unsigned char *b = (const unsigned char *)data;

    if (n < head + INSN_JUMP + INSN_ENDBR64)
        return;
    const struct insn_text text = {b + head, n - head, 0x10000};
    const struct ehframe e = {.memory = b + head, .size = n - head, .at = 0x10000, .header = 0x10000 + b[2] % 8};
    size_t from = (size_t)(b[0] | b[1] << 8) % text.size, size = 1 + b[3] % (text.size - from);
    struct insn_move m;
    const char *why = insn_detour(&m, text.code + from, size, text.at + from, text.at + from);

    if (!why)
        why = insn_check_around(&text, text.at + from, size, m.from, m.from + m.taken);
    FUZZ_HOLDS(!why || fuzz_is_printable(why));
    struct a64_move a = {.code = text.code + from, .size = size, .from = text.at + from, .slot = text.at + from, .to = text.at + from};
    why = a64_detour(&a);
    if (!why)
        why = insn_check_around_aarch64(&text, text.at + from, size, a.patched, a.from + a.n_head);
    FUZZ_HOLDS(!why || fuzz_is_printable(why));
    FUZZ_HOLDS(ehframe_size(&e, 0x10000 + from) <= UINT32_MAX);
}

/* What can be decoded is three bytes for four digits at most; a path that was found is absolute and of that file. */
static void fuzz_pressure(const char *data, size_t n)
{
    char *first, *second, path[256], cgroup[128];
    unsigned char bytes[512];

    fuzz_strings(data, n, &first, &second);
    long length = pressure_decode(first, bytes, sizeof bytes);
    FUZZ_HOLDS(length == -EINVAL || length == -ENOBUFS || (length >= 0 && (size_t)length * 4 <= strlen(first) * 3));
    int error = pressure_cgroup(data, n, cgroup, sizeof cgroup);
    FUZZ_HOLDS(error == 0 ? *cgroup == '/' : error == -ENODATA || error == -ENAMETOOLONG);
    error = pressure_file(data, n, error ? "/" : cgroup, path, sizeof path);
    FUZZ_HOLDS(error == 0 ? strlen(path) >= 16 && strcmp(path + strlen(path) - 16, "/memory.pressure") == 0 : error == -ENOENT || error == -ENAMETOOLONG);
    free(first);
    free(second);
}

/* The first string is texts with '|' between them, the second a stream, in which a piece ends behind some of the bytes. What each
 * piece completes is what strstr finds in the lines up to its end and had not found up to its begin. */
static void fuzz_match(const char *data, size_t n)
{
    char *texts, *stream, *rest, *text[MATCH_TEXTS];
    static struct match m;
    struct match_stream s = {0};
    unsigned count = 0;

    fuzz_strings(data, n, &texts, &stream);
    memset(&m, 0, sizeof m);
    rest = texts;
    while (count < MATCH_TEXTS && (text[count] = strsep(&rest, "|")))
        count += match_add(&m, text[count]) == 0;
    FUZZ_HOLDS(count == m.n_texts);
    for (size_t from = 0, to; stream[from]; from = to) {
        uint32_t expected = 0;

        for (to = from; stream[to] && (to == from || stream[to - 1] & 7);)
            to++;
        for (unsigned i = 0; i < count; i++) {
            size_t length = strlen(text[i]), begin = from >= length ? from - length + 1 : 0;
            char *window = fuzz_string(stream + begin, to - begin);
            expected |= strstr(window, text[i]) ? 1U << i : 0;
            free(window);
        }
        FUZZ_HOLDS(match_feed(&m, &s, stream + from, to - from) == expected);
    }
    free(texts);
    free(stream);
}

static const char *const fuzz_names[] = {"mallctl", "mi_collect", "malloc_trim"};

static void fuzz_symbol(void *context, const struct elffile_symbol *symbol)
{
    (void)context;
    FUZZ_HOLDS(symbol->name < 3 && strlen(symbol->prefix) <= ELFFILE_PREFIX_MAX && symbol->value);
    FUZZ_HOLDS(fuzz_is_printable(symbol->prefix));
}

static void fuzz_elffile(const char *data, size_t n)
{
    struct fuzz_file file = {data, n};
    struct elffile f;
    _Alignas(16) char buffer[ELFFILE_BUFFER];
    unsigned char id[ELFFILE_ID_MAX];

    FUZZ_HOLDS(elffile_note_id(data, n, n & 1 ? 8 : 4, id) <= ELFFILE_ID_MAX);
    if (elffile_open(&f, fuzz_read, &file) != 0)
        return;
    FUZZ_HOLDS(f.id_size <= ELFFILE_ID_MAX);
    int result = elffile_search(&f, fuzz_names, 3, buffer, sizeof buffer, fuzz_symbol, NULL);
    FUZZ_HOLDS(result == 0 || result == -ENOEXEC);
    (void)elffile_offset(&f, f.header.e_entry);
}

const struct fuzz_target fuzz_targets[] = {
    {"procfs", fuzz_procfs},   {"uncertain", fuzz_uncertain}, {"options", fuzz_options}, {"glob", fuzz_glob},
    {"preload", fuzz_preload}, {"expand", fuzz_expand},       {"record", fuzz_record},   {"signal", fuzz_signal},
    {"text", fuzz_text},       {"elffile", fuzz_elffile},   {"event", fuzz_event},
    {"line", fuzz_line},       {"json", fuzz_json},
    {"pieces", fuzz_pieces},   {"code", fuzz_code},
    {"pressure", fuzz_pressure},
    {"match", fuzz_match},
};
const size_t fuzz_n_targets = sizeof fuzz_targets / sizeof *fuzz_targets;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > FUZZ_INPUT_MAX)
        return 0;
    char *exact = malloc(size - 1 + (size == 1));
    FUZZ_HOLDS(exact != NULL);
    memcpy(exact, data + 1, size - 1);
    fuzz_targets[data[0] % fuzz_n_targets].run(exact, size - 1);
    free(exact);
    return 0;
}
