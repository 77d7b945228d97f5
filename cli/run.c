/* run: starts a command with the library in it. The tool replaces itself by the command: no supervisor stays behind. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "defaults.h"
#include "library.h"
#include "options.h"
#include "preset.h"
#include "program.h"
#include "target.h"

static int start(int argc, char **argv);
static void start_help(FILE *out);

const struct command command_run = {
    .name = "run",
    .arguments = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .summary = "start a program with the library in it",
    .run = start,
    .help = start_help,
};

/* As env(1) and the shells have it, so that a script can tell them from the program's own status. */
enum { EXIT_CANNOT_EXEC = 126, EXIT_NO_SUCH_PROGRAM = 127 };

static void start_help(FILE *out)
{
    fputs("Sets LD_PRELOAD and the variables below, and becomes PROGRAM. What stands in LD_PRELOAD stays there, in front.\n"
          "  --library FILE\n"
          "      the libgiveback.so to load, instead of the one beside this program or in ../lib\n"
          "  --no-default\n"
          "      leave out the events " DEFAULT_EVENTS ", which come by themselves where GIVEBACK_ON is not set; the\n"
          "      signal stays\n"
          "  --preset NAME\n"
          "      variables for a known program, out of ../share/giveback/presets/NAME or, with a '/' in it, a file of your own; options\n"
          "      and variables that are set come first, --on adds\n"
          "  -v, --verbose\n"
          "      say on stderr what was set, as lines for a shell\n",
          out);
    options_print_flags(out);
    fputs("--on may be given several times; each adds to what GIVEBACK_ON holds already, and one of the default events with an argument\n"
          "takes the place of that one. In it a function may be named as C++ and\n"
          "Rust name it: exit:ns::f, \"exit:libx.so.1:ns::f(int)\"; it is looked for in PROGRAM and its libraries, or in the\n"
          "file that stands in the place of OBJECT.\n", out);
    fputs("Exit status: PROGRAM's own, 2 for a wrong option, 1 when the library is not found or cannot be preloaded into PROGRAM (a static\n"
          "or setuid program, musl, another type of machine), 127 when PROGRAM is not found, 126 when it cannot be started.\n",
          out);
}

/* The row whose flag is the first n bytes of `flag`; OPTION_COUNT: none. */
static size_t option_by_flag(const char *flag, size_t n)
{
    size_t i = 0;
    while (i < OPTION_COUNT && !(option_table[i].flag && strlen(option_table[i].flag) == n &&
                                 strncmp(option_table[i].flag, flag, n) == 0))
        i++;
    return i;
}

/* One event more in GIVEBACK_ON: EXIT_DONE, or EXIT_NOT_DONE after a complaint. */
static int event_add(const char *value)
{
    const char *variable = option_table[OPTION_ON].variable, *old = getenv(variable);
    size_t size = (old ? strlen(old) : 0) + strlen(value) + 2;
    char *both = malloc(size);
    if (both)
        (void)snprintf(both, size, "%s%s%s", old ? old : "", old && *old ? ";" : "", value);
    bool done = both && setenv(variable, both, 1) == 0;
    free(both);
    if (!done)
        complain("out of memory for %s", variable);
    return done ? EXIT_DONE : EXIT_NOT_DONE;
}

/* Checks the value and puts it into the environment: EXIT_DONE, or EXIT_USAGE after a complaint. */
static int option_apply(enum option_id id, const char *value)
{
    static struct settings checked; /* only to check against: the host reads the variables itself */
    char line[OPTION_VALUE_MAX * 2];
    struct text complaint;
    text_init(&complaint, line, sizeof line);
    if (options_set(&checked, id, value, &complaint) != 0) {
        complain("%s", line);
        return EXIT_USAGE;
    }
    return id == OPTION_ON ? event_add(value)
           : setenv(option_table[id].variable, value, 1) == 0 ? EXIT_DONE : EXIT_NOT_DONE;
}

/* What the options say that is not simply put into the environment. */
struct choice {
    const char *library, *preset;
    const char **events; /* as they were given, for as many as there are words; then those of the preset, which live as long as the tool */
    size_t n_events;
    bool no_default, verbose;
};

/* A line of the preset, once the options are read: what they, or the environment, say comes first. */
static int preset_apply(void *context, enum option_id id, const char *value)
{
    struct choice *c = context;
    const char *set = getenv(option_table[id].variable);
    if (id != OPTION_ON)
        return set && *set ? EXIT_DONE : option_apply(id, value);
    const char **more = realloc(c->events, (c->n_events + 1) * sizeof *more);
    char *copy = more ? strdup(value) : NULL;
    if (more)
        c->events = more;
    if (!copy) {
        complain("out of memory for a preset");
        return EXIT_NOT_DONE;
    }
    c->events[c->n_events++] = copy;
    return EXIT_DONE;
}

/* An option without a value. false: it is none. */
static bool switch_take(struct choice *c, const char *word)
{
    bool verbose = strcmp(word, "-v") == 0 || strcmp(word, "--verbose") == 0, no_default = strcmp(word, "--no-default") == 0;
    c->verbose |= verbose;
    c->no_default |= no_default;
    return verbose || no_default;
}

/* Where the value of an option goes that is no variable's. NULL: it is one. */
static const char **place_of(struct choice *c, const char *flag, size_t n)
{
    if (n == strlen("library") && strncmp(flag, "library", n) == 0)
        return &c->library;
    return n == strlen("preset") && strncmp(flag, "preset", n) == 0 ? &c->preset : NULL;
}

/* Reads the options; *at becomes the index of the program. EXIT_DONE, or what to exit with. */
static int options_take(int argc, char **argv, int *at, struct choice *c)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-') {
        if (switch_take(c, argv[i])) {
            i++;
            continue;
        }
        if (argv[i][1] != '-')
            return misused(&command_run, "%s is no option", argv[i]);
        const char *flag = argv[i++] + 2;
        if (!*flag)
            break;
        size_t n = strcspn(flag, "=");
        const char **place = place_of(c, flag, n);
        size_t id = option_by_flag(flag, n);
        if (!place && id == OPTION_COUNT)
            return misused(&command_run, "--%.*s is no option", (int)n, flag);
        if (!flag[n] && i == argc)
            return misused(&command_run, "--%s expects a value", flag);
        const char *value = flag[n] ? flag + n + 1 : argv[i++];
        if (place) {
            if (*place)
                return misused(&command_run, "--%.*s is given twice", (int)n, flag);
            *place = value;
            continue;
        }
        if (id == OPTION_ON) {
            c->events[c->n_events++] = value;
            continue;
        }
        int status = option_apply((enum option_id)id, value);
        if (status != EXIT_DONE)
            return status;
    }
    if (i == argc)
        return misused(&command_run, "no program to start");
    *at = i;
    return EXIT_DONE;
}

/* The events, once it is known in which program to look for functions. */
static int events_apply(const struct choice *c, const char *program)
{
    const char *variable = option_table[OPTION_ON].variable, *inherited = getenv(variable);
    bool by_default = !c->no_default && !(inherited && *inherited);

    for (size_t i = 0; i < c->n_events; i++) {
        char *value = target_turn(c->events[i], program);
        int status = value ? option_apply(OPTION_ON, value) : EXIT_NOT_DONE;
        free(value);
        if (status != EXIT_DONE)
            return status;
    }
    if (!by_default)
        return EXIT_DONE;
    char *all = defaults_add(getenv(variable));
    bool done = all && setenv(variable, all, 1) == 0;
    free(all);
    if (!done)
        complain("out of memory for %s", variable);
    return done ? EXIT_DONE : EXIT_NOT_DONE;
}

/* The library at the end of LD_PRELOAD. */
static int preload_apply(const struct choice *c)
{
    char *path = library_find(c->library);
    if (!path)
        return EXIT_NOT_DONE;
    char *preload = library_preload(getenv("LD_PRELOAD"), path);
    bool done = preload && setenv("LD_PRELOAD", preload, 1) == 0;
    free(path);
    free(preload);
    if (!done)
        complain("out of memory for LD_PRELOAD");
    return done ? EXIT_DONE : EXIT_NOT_DONE;
}

/* export NAME='VALUE'; a quote in it as '\'' */
static void variable_print(FILE *out, const char *name)
{
    const char *value = getenv(name);
    if (!value)
        return;
    fprintf(out, "export %s='", name);
    for (; *value; value++)
        fputs(*value == '\'' ? "'\\''" : (char[]){*value, 0}, out);
    fputs("'\n", out);
}

static void environment_print(FILE *out)
{
    variable_print(out, "LD_PRELOAD");
    for (size_t i = 0; i < OPTION_COUNT; i++)
        variable_print(out, option_table[i].variable);
}

/* Everything before the exec. EXIT_DONE, or what to exit with. */
static int prepare(int argc, char **argv, int *at)
{
    struct choice c = {.events = calloc((size_t)argc, sizeof *c.events)};
    int status = c.events ? options_take(argc, argv, at, &c) : EXIT_NOT_DONE;
    if (status == EXIT_DONE && c.preset)
        status = preset_read(c.preset, preset_apply, &c);
    if (status == EXIT_DONE && !program_preloads(argv[*at]))
        status = EXIT_NOT_DONE;
    if (status == EXIT_DONE)
        status = events_apply(&c, argv[*at]);
    if (status == EXIT_DONE)
        status = preload_apply(&c);
    if (status == EXIT_DONE && c.verbose)
        environment_print(stderr);
    free(c.events);
    return status;
}

static int start(int argc, char **argv)
{
    int at = 0, status = prepare(argc, argv, &at);
    if (status != EXIT_DONE)
        return status;
    execvp(argv[at], argv + at);
    int error = errno;
    if (error == ENOENT) {
        complain("%s: no such program (or no such interpreter); check its name and PATH", argv[at]);
        return EXIT_NO_SUCH_PROGRAM;
    }
    complain("%s cannot be started: %s", argv[at], strerror(error));
    return EXIT_CANNOT_EXEC;
}
