/* steer: release, mark, pause, resume, status: one request to the control socket of each process that is named. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "connection.h"
#include "hosts.h"
#include "options.h"
#include "parse.h"
#include "process.h"
#include "show.h"

#define TIMEOUT_MS 60000 /* a release of some hundred gigabytes takes as long */

static int run_release(int argc, char **argv);
static int run_mark(int argc, char **argv);
static int run_pause(int argc, char **argv);
static int run_resume(int argc, char **argv);
static int run_status(int argc, char **argv);
static void help(FILE *out);

#define STEER(word, sentence, options)                                                                                 \
    const struct command command_##word = {                                                                            \
        .name = #word, .arguments = options "[OPTIONS] PID|NAME...|--all", .summary = sentence, .run = run_##word, .help = help}
STEER(release, "make processes give memory back now", "");
STEER(mark, "record the memory of processes, release nothing", "");
STEER(pause, "keep automatic events of processes waiting", "");
STEER(resume, "let automatic events of processes go on", "");
STEER(status, "show memory, events and the last record of processes", "");

struct steer {
    const struct command *command;
    const char *label, *socket;
    int64_t timeout_ms;
    bool json, all;
    int argc; /* process ids and names */
    char **argv;
};

static void help(FILE *out)
{
    fputs("NAME is that of a process that has the library, or of its program or executable, and of one alone unless --all is given.\n"
          "Asks each process by its control socket, which the event `socket` makes (a default of `giveback run`), and prints the answer.\n"
          "release sends the signal where there is no socket, if the library's own handler is there to take it.\n"
          "  --all            every process of each NAME; without one, every process that has the library\n"
          "  --json           the answer as it is: one JSON object a line\n"
          "  --label TEXT     of release and mark: what the record is to call it, at most 63 bytes\n"
          "  --socket PATH    the socket, where it is not found: GIVEBACK_DIR, the variables of the process, the usual places\n"
          "  --timeout TIME   how long to wait for each answer [60s]\n"
          "Exit status: 0 when all have done it, 1 when one has not, 2 for wrong usage.\n",
          out);
}

/* Without the library, or without a socket: what to do about it. */
static int explain(const struct process *p, const struct process_library *l)
{
    if (!l->loaded)
        complain("%d (%s): the library is not in it, or may not be looked for; start the program by: giveback run -- PROGRAM", (int)p->pid,
                 p->name);
    else
        complain("%d (%s): it has the library but no control socket that was found; start it with --on socket (GIVEBACK_ON=socket), or name "
                 "the socket by --socket or its folder by GIVEBACK_DIR",
                 (int)p->pid, p->name);
    return EXIT_NOT_DONE;
}

/* The way without an answer, and only on proof: whoever has no handler of ours would die of the signal, or do what its own does. */
static int by_signal(const struct process *p)
{
    struct process_library l;
    char name[16];
    process_library(p, &l);
    if (!l.loaded || !l.known || !l.signal || p->strict) {
        if (!l.loaded || !l.known)
            return explain(p, &l);
        complain("%d (%s): no control socket was found, and the library's handler takes no signal there (GIVEBACK, GIVEBACK_SIGNAL, or a handler "
                 "of the program's own); start it with --on socket, or name the socket by --socket or its folder by GIVEBACK_DIR",
                 (int)p->pid, p->name);
        return EXIT_NOT_DONE;
    }
    int error = process_signal(p, l.signal);
    options_signal_name(l.signal, name, sizeof name);
    if (error) {
        complain("%d (%s): SIG%s could not be sent: %s", (int)p->pid, p->name, name, strerror(error));
        return EXIT_NOT_DONE;
    }
    printf("%d (%s): no control socket was found, so SIG%s was sent; the record is in its log\n", (int)p->pid, p->name, name);
    return EXIT_DONE;
}

static int unreached(const struct steer *s, const struct process *p, int error)
{
    struct process_library l;
    if (error == EACCES || error == EPERM) {
        complain("%d (%s): its control socket is its user's; run this as user %u or as root", (int)p->pid, p->name, (unsigned)p->uid);
        return EXIT_NOT_DONE;
    }
    if (error == ESTALE && s->socket) {
        complain("%d (%s): another process listens on %s", (int)p->pid, p->name, s->socket);
        return EXIT_NOT_DONE;
    }
    if (s->socket) {
        complain("%d (%s): %s: %s; its events are in GIVEBACK_ON of the process", (int)p->pid, p->name, s->socket, strerror(error));
        return EXIT_NOT_DONE;
    }
    if (s->command == &command_release)
        return by_signal(p);
    process_library(p, &l);
    return explain(p, &l);
}

static int answered(const struct steer *s, const struct process *p, const char *answer)
{
    struct json_object *o = json_tokener_parse(answer), *error = NULL;
    int status = EXIT_DONE;
    if (!json_object_is_type(o, json_type_object)) {
        complain("%d (%s): what answers on its socket does not speak the library's language; is --socket right?", (int)p->pid, p->name);
        status = EXIT_NOT_DONE;
    } else if (json_object_object_get_ex(o, "error", &error) && json_object_is_type(error, json_type_string)) {
        complain("%d (%s): %s", (int)p->pid, p->name, json_object_get_string(error));
        status = EXIT_NOT_DONE;
    } else if (s->json) {
        puts(answer);
    } else if (s->command == &command_status) {
        show_status(o);
    } else if (!show_record(o)) {
        printf("%d (%s): %s\n", (int)p->pid, p->name, s->command == &command_pause ? "automatic events wait" : "automatic events go on");
    }
    json_object_put(o);
    return status;
}

/* {"do":"release","label":"..."} and its end; to be freed. */
static char *request(const struct steer *s)
{
    struct json_object *o = json_object_new_object();
    char *line = NULL;
    json_object_object_add(o, "do", json_object_new_string(s->command->name));
    if (s->label)
        json_object_object_add(o, "label", json_object_new_string(s->label));
    if (asprintf(&line, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN)) < 0)
        line = NULL;
    json_object_put(o);
    return line;
}

static int ask(const struct steer *s, const struct process *p)
{
    int error, status = EXIT_NOT_DONE;
    if (p->state == 'Z' || p->state == 'X') {
        complain("%d (%s): it has ended already and waits for its parent", (int)p->pid, p->name);
        return status;
    }
    if (p->state == 'T' || p->state == 't') {
        complain("%d (%s): it is stopped, so it cannot answer; continue it: kill -CONT %d", (int)p->pid, p->name, (int)p->pid);
        return status;
    }
    int fd = connection_open(p, s->socket);
    if (fd < 0)
        return unreached(s, p, -fd);
    char *line = request(s), *answer = line ? connection_ask(fd, line, s->timeout_ms, &error) : NULL;
    if (answer)
        status = answered(s, p, answer);
    else if (!line)
        complain("out of memory");
    else if (error == ETIMEDOUT)
        complain("%d (%s): no answer in %lld ms; a longer --timeout may help", (int)p->pid, p->name, (long long)s->timeout_ms);
    else if (error == ECONNRESET)
        complain("%d (%s): the socket was closed without an answer; the process may have ended: kill -0 %d", (int)p->pid, p->name, (int)p->pid);
    else
        complain("%d (%s): what answers on its socket does not speak the library's language (%s)", (int)p->pid, p->name, strerror(error));
    free(line);
    free(answer);
    close(fd);
    return status;
}

static bool is_flag(const char *argument, const char *flag)
{
    size_t n = strlen(flag);
    return strncmp(argument, flag, n) == 0 && (!argument[n] || argument[n] == '=');
}

/* Where the value of the option goes; NULL: it is none that takes one. */
static const char **value_place(struct steer *s, const char **timeout, const char *argument)
{
    if (is_flag(argument, "--label") && (s->command == &command_release || s->command == &command_mark))
        return &s->label;
    return is_flag(argument, "--socket") ? &s->socket : is_flag(argument, "--timeout") ? timeout : NULL;
}

/* EXIT_DONE, or EXIT_USAGE after a complaint. */
static int take(struct steer *s, int argc, char **argv)
{
    const char *timeout = NULL;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        bool json = strcmp(argv[i], "--json") == 0, all = strcmp(argv[i], "--all") == 0;
        s->json |= json;
        s->all |= all;
        if (json || all)
            continue;
        const char **place = value_place(s, &timeout, argv[i]), *equals = strchr(argv[i], '=');
        if (!place)
            return misused(s->command, "%s is no option", argv[i]);
        if (!equals && i + 1 == argc)
            return misused(s->command, "%s expects a value", argv[i]);
        *place = equals ? equals + 1 : argv[++i];
    }
    s->argc = argc - i;
    s->argv = argv + i;
    if (s->label && strlen(s->label) >= EVENT_LABEL_MAX)
        return misused(s->command, "--label takes at most %d bytes", EVENT_LABEL_MAX - 1);
    if (timeout && (s->timeout_ms = parse_time(timeout, strlen(timeout)) / 1000000) < 1)
        return misused(s->command, "--timeout expects a number and ms, s, m or h, not \"%s\"", timeout);
    return s->argc || s->all ? EXIT_DONE : misused(s->command, "no process id, name or --all");
}

/* The hosts of a name; their ids only, since a descriptor for each would be too many. */
struct named {
    const char *name; /* NULL: all */
    pid_t *at;
    size_t n;
    bool exhausted; /* memory */
};

static void named_add(void *context, const struct process *p)
{
    struct named *l = context;
    if (l->name && !hosts_called(p, l->name))
        return;
    pid_t *more = realloc(l->at, (l->n + 1) * sizeof *more);
    l->exhausted |= !more;
    if (!more)
        return;
    l->at = more;
    l->at[l->n++] = p->pid;
}

/* Nothing, or too much, has that name. */
static void named_complain(const struct named *l)
{
    char list[256] = "";
    size_t used = 0, i;
    if (l->exhausted) {
        complain("out of memory");
        return;
    }
    if (!l->n) {
        complain("%s%sno process%s has the library (or you may not look into it); `giveback` lists those that have it; start one by: giveback "
                 "run -- PROGRAM",
                 l->name ? l->name : "", l->name ? ": " : "", l->name ? " of that name" : "");
        return;
    }
    for (i = 0; i < l->n && used < sizeof list - 16; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, " %d", (int)l->at[i]);
    complain("%s: %zu processes of that name have the library; name one by its id, or all by --all %s:%s%s", l->name, l->n, l->name, list,
             i < l->n ? " ..." : "");
}

/* Each host of that name; NULL: every one. */
static int ask_named(const struct steer *s, const char *name)
{
    struct named l = {.name = name};
    int status = EXIT_DONE;
    if (hosts_each(named_add, &l) < 0)
        return EXIT_NOT_DONE;
    if (l.exhausted || !l.n || (l.n > 1 && !s->all)) {
        named_complain(&l);
        l.n = 0;
        status = EXIT_NOT_DONE;
    }
    for (size_t i = 0; i < l.n; i++) {
        struct process p;
        if (process_take(&p, l.at[i]) != 0)
            continue; /* it has ended meanwhile, and nobody named it */
        if (ask(s, &p) != EXIT_DONE)
            status = EXIT_NOT_DONE;
        process_free(&p);
    }
    free(l.at);
    return status;
}

static int ask_id(const struct steer *s, const char *id)
{
    struct process p;
    if (!process_read(&p, id))
        return EXIT_NOT_DONE;
    int status = ask(s, &p);
    process_free(&p);
    return status;
}

static int steer(const struct command *command, int argc, char **argv)
{
    struct steer s = {.command = command, .timeout_ms = TIMEOUT_MS};
    int status = take(&s, argc, argv);
    if (status != EXIT_DONE)
        return status;
    if (!s.argc)
        return ask_named(&s, NULL);
    for (int i = 0; i < s.argc; i++) {
        const char *one = s.argv[i];
        if ((one[strspn(one, "0123456789")] ? ask_named(&s, one) : ask_id(&s, one)) != EXIT_DONE)
            status = EXIT_NOT_DONE;
    }
    return status;
}

static int run_release(int argc, char **argv)
{
    return steer(&command_release, argc, argv);
}

static int run_mark(int argc, char **argv)
{
    return steer(&command_mark, argc, argv);
}

static int run_pause(int argc, char **argv)
{
    return steer(&command_pause, argc, argv);
}

static int run_resume(int argc, char **argv)
{
    return steer(&command_resume, argc, argv);
}

static int run_status(int argc, char **argv)
{
    return steer(&command_status, argc, argv);
}
