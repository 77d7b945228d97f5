/* symbols: what `exit:` and `enter:` could name, in a file or in a process. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "mapped.h"
#include "symbols.h"
#include "text.h"

static int list(int argc, char **argv);
static void list_help(FILE *out);

const struct command command_symbols = {
    .name = "symbols",
    .arguments = "[OPTIONS] FILE|PID [PATTERN...]",
    .summary = "list the functions that an event can name",
    .run = list,
    .help = list_help,
};

static void list_help(FILE *out)
{
    fputs("Lists functions of a program, a shared library, or everything that a process has loaded, with their size, their\n"
          "object, whether they can be hooked (if not, why), their name and what it means in C++ or Rust. exit:OBJECT:NAME is\n"
          "an event then. PATTERN: a shell glob over whole names, mangled or not, parameters may be left out.\n"
          "A Python file, a folder of them, or the name of a module: its functions and methods, as py:MODULE:QUALNAME.\n"
          "  --hookable          only what can be hooked\n"
          "  --sort name|size    by name, or the largest first  [name]\n"
          "  --json              one JSON object a line\n"
          "Exit status: 0 found, 1 nothing matches or cannot be read, 2 usage.\n",
          out);
}

/* What the command was asked. */
struct asked {
    struct symbols list;
    const char *what;
    bool by_size, json, python;
};

/* 0, or an exit status after a complaint. */
static int asked_read(struct asked *a, int argc, char **argv)
{
    static const struct option options[] = {
        {"hookable", no_argument, NULL, 'k'}, {"sort", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'}, {0}};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (option == 'k')
            a->list.hookable = true;
        else if (option == 'j')
            a->json = true;
        else if (option == ':')
            return misused(&command_symbols, "%s expects a value", argv[optind - 1]);
        else if (option != 's')
            return misused(&command_symbols, "%s is no option; expected --hookable, --sort or --json", argv[optind - 1]);
        else if (strcmp(optarg, "name") != 0 && strcmp(optarg, "size") != 0)
            return misused(&command_symbols, "--sort \"%s\": expected name or size", optarg);
        else
            a->by_size = strcmp(optarg, "size") == 0;
    }
    if (optind == argc)
        return misused(&command_symbols, "no file and no process named");
    a->what = argv[optind];
    a->list.patterns = argv + optind + 1;
    a->list.n_patterns = (size_t)(argc - optind - 1);
    return EXIT_DONE;
}

static bool is_number(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == '\0' && strlen(s) < 10;
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n > m && strcmp(s + n - m, end) == 0;
}

/* Could it be a module's name? */
static bool is_dotted_name(const char *s)
{
    for (bool first = true; *s; s++) {
        if (!(isalpha((unsigned char)*s) || *s == '_' || (!first && (isdigit((unsigned char)*s) || *s == '.'))))
            return false;
        first = *s == '.';
    }
    return true;
}

static void add_mapped(void *context, int fd, const char *path)
{
    struct elfobject o;
    const char *wrong = fd < 0 ? elfobject_open_vdso(&o) : elfobject_open(&o, fd, path);

    if (!wrong)
        symbols_add_object(context, &o);
}

static int add_file(struct asked *a)
{
    struct elfobject o;
    int fd = open(a->what, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *wrong;

    if (fd < 0) {
        complain("%s: %s", a->what, errno == ENOENT ? "no such file, process or Python module" : strerror(errno));
        return -1;
    }
    wrong = elfobject_open(&o, fd, a->what);
    if (wrong) {
        complain("%s %s", a->what, wrong);
        return -1;
    }
    symbols_add_object(&a->list, &o);
    return 0;
}

static int add(struct asked *a)
{
    struct stat status;
    bool there = stat(a->what, &status) == 0;

    if (is_number(a->what)) /* a file of that name is ./NUMBER */
        return mapped_read((pid_t)atol(a->what), add_mapped, &a->list);
    a->python = there ? S_ISDIR(status.st_mode) || ends_in(a->what, ".py") : errno == ENOENT && is_dotted_name(a->what);
    return a->python ? symbols_add_python(&a->list, a->what) : add_file(a);
}

static int by_name(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    if (!order)
        order = strcmp(a->object, b->object);
    return order ? order : a->value < b->value ? -1 : a->value > b->value;
}

static int by_size(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;

    return a->size > b->size ? -1 : a->size < b->size ? 1 : by_name(left, right);
}

/* As it may stand on a terminal; good until the next call but one. */
static const char *printable(const char *s)
{
    static char *buffer[2];
    static unsigned turn;
    size_t size = 4 * strlen(s) + 1;
    struct text t;

    turn ^= 1;
    char *at = realloc(buffer[turn], size);
    if (!at)
        return "?";
    buffer[turn] = at;
    text_init(&t, at, size);
    text_printable(&t, s, size);
    return at;
}

/* The column that says whether it can be hooked. */
static const char *verdict_text(const struct symbol *s)
{
    static char line[200];

    if (s->verdict == VERDICT_YES && s->stack)
        (void)snprintf(line, sizeof line, "yes, needs stack=%lu", (unsigned long)s->stack);
    else if (s->verdict == VERDICT_YES)
        return "yes";
    else
        (void)snprintf(line, sizeof line, "%s: %s", s->verdict == VERDICT_NO ? "no" : "perhaps", s->why);
    return line;
}

static void print_text(const struct asked *a)
{
    const struct symbols *s = &a->list;
    int object = 6, verdict = 4, name = 4;

    for (size_t i = 0; i < s->n; i++) {
        int n = (int)strlen(s->at[i].object), v = (int)strlen(verdict_text(&s->at[i])), m = (int)strlen(s->at[i].name);
        object = n > object ? n : object;
        verdict = v > verdict ? v : verdict;
        name = m > name && m <= 60 ? m : name;
    }
    if (a->python)
        printf("%8s  %-*s  %s\n", "LINES", verdict, "HOOK", "TARGET");
    else
        printf("%8s  %-*s  %-*s  %-*s  %s\n", "SIZE", object, "OBJECT", verdict, "HOOK", name, "NAME", "DEMANGLED");
    for (size_t i = 0; i < s->n; i++) {
        const struct symbol *y = &s->at[i];
        if (a->python) {
            printf("%8lu  %-*s  py:%s:%s\n", (unsigned long)y->size, verdict, verdict_text(y), y->object, y->name);
            continue;
        }
        printf("%8lu  %-*s  %-*s  ", (unsigned long)y->size, object, printable(y->object), verdict, verdict_text(y));
        if (y->demangled)
            printf("%-*s  %s\n", name, printable(y->name), printable(y->demangled));
        else
            printf("%s\n", printable(y->name));
    }
}

static void put(struct json_object *o, const char *key, struct json_object *value)
{
    (void)json_object_object_add_ex(o, key, value, JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_ADD_CONSTANT_KEY);
}

static struct json_object *text_or_null(const char *s)
{
    return s ? json_object_new_string(printable(s)) : NULL;
}

static void print_json(const struct asked *a, const struct symbol *y)
{
    struct json_object *o = json_object_new_object();
    char *target = symbols_target(y);

    put(o, a->python ? "module" : "object", text_or_null(y->object));
    put(o, "path", text_or_null(y->path));
    put(o, "name", text_or_null(y->name));
    if (!a->python)
        put(o, "demangled", text_or_null(y->demangled));
    put(o, a->python ? "lines" : "size", json_object_new_uint64(y->size));
    put(o, a->python ? "line" : "address", json_object_new_uint64(y->value));
    put(o, "hookable", y->verdict == VERDICT_LATER ? NULL : json_object_new_boolean(y->verdict == VERDICT_YES));
    put(o, "reason", y->verdict == VERDICT_YES ? NULL : text_or_null(y->why));
    if (!a->python)
        put(o, "stack", y->stack ? json_object_new_uint64(y->stack) : NULL);
    put(o, "target", text_or_null(target));
    puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(o);
    free(target);
}

static int list(int argc, char **argv)
{
    struct asked a = {.what = NULL};
    int status = asked_read(&a, argc, argv);

    if (status != EXIT_DONE)
        return status;
    if (add(&a) != 0)
        return EXIT_NOT_DONE;
    if (a.list.exhausted) {
        complain("out of memory");
        return EXIT_NOT_DONE;
    }
    if (!a.list.n) {
        if (a.list.n_patterns)
            complain("no function of %s matches; a pattern is for the whole name: '*%s*' would search in it", a.what, a.list.patterns[0]);
        else
            complain("%s has no function that is named", a.what);
        return EXIT_NOT_DONE;
    }
    qsort(a.list.at, a.list.n, sizeof *a.list.at, a.by_size ? by_size : by_name);
    if (!a.json)
        print_text(&a);
    for (size_t i = 0; a.json && i < a.list.n; i++)
        print_json(&a, &a.list.at[i]);
    return EXIT_DONE;
}
