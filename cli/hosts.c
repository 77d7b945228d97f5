/* hosts: see hosts.h; and list, which shows them. */
#include "hosts.h"

#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "connection.h"
#include "options.h"
#include "procfs.h"

#define COMM_MAX 15 /* longer names of tasks are cut by the kernel */

static int list(int argc, char **argv);
static void list_help(FILE *out);

const struct command command_list = {
    .name = "list",
    .arguments = "[--json]",
    .summary = "list the processes that have the library, as no command does",
    .run = list,
    .help = list_help,
};

static int is_number(const struct dirent *entry)
{
    return entry->d_name[strspn(entry->d_name, "0123456789")] == 0;
}

long hosts_each(hosts_visit visit, void *context)
{
    struct dirent **entries;
    int n = scandir("/proc", &entries, is_number, versionsort);
    long unseen = 0;

    if (n < 0) {
        complain("/proc cannot be read: %m");
        return -1;
    }
    for (int i = 0; i < n; i++) {
        struct process p;
        pid_t pid = (pid_t)atoi(entries[i]->d_name);
        free(entries[i]);
        if (pid == getpid() || process_take(&p, pid) != 0)
            continue;
        int has = process_has_library(&p);
        if (has > 0)
            visit(context, &p);
        else if (has < 0 && (errno == EACCES || errno == EPERM))
            unseen++;
        process_free(&p);
    }
    free(entries);
    return unseen;
}

bool hosts_called(const struct process *p, const char *name)
{
    bool cut = strlen(p->name) == COMM_MAX && strncmp(p->name, name, COMM_MAX) == 0;
    return *name && (cut || strcmp(p->name, name) == 0 || strcmp(p->program, name) == 0 || strcmp(p->file, name) == 0);
}

struct listing {
    bool json;
    size_t n;
};

static void list_help(FILE *out)
{
    fputs("Lists each process that has libgiveback.so mapped: its id, its program (and its own name, where that is another), RssAnon,\n"
          "whether its control socket answers to you, and the signal that the library takes there (none: it takes none; ?: it may not be asked).\n"
          "  --json   an object a line: pid, program, name, executable, anon (bytes), socket, signal; null is unknown\n",
          out);
}

/* The signal that releases there; "none", or NULL: it could not be asked. */
static const char *signal_of(const struct process *p, char *buffer, size_t size)
{
    struct process_library l;
    process_library(p, &l);
    return l.known ? options_signal_name(l.signal, buffer, size) : NULL;
}

static void json_print(const struct process *p, const char *taken, bool answers)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "pid", json_object_new_int(p->pid));
    json_object_object_add(o, "program", json_object_new_string(p->program));
    json_object_object_add(o, "name", json_object_new_string(p->name));
    json_object_object_add(o, "executable", *p->file ? json_object_new_string(p->file) : NULL);
    json_object_object_add(o, "anon", p->anon == PROCFS_UNKNOWN ? NULL : json_object_new_int64(p->anon));
    json_object_object_add(o, "socket", json_object_new_boolean(answers));
    json_object_object_add(o, "signal", taken ? json_object_new_string(taken) : NULL);
    puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
    json_object_put(o);
}

static void list_one(void *context, const struct process *p)
{
    struct listing *l = context;
    char name[128], amount[64], buffer[16];
    struct text program, anon;
    const char *taken = signal_of(p, buffer, sizeof buffer);
    int fd = p->state == 'T' || p->state == 't' ? -1 : connection_open(p, NULL);

    if (fd >= 0)
        close(fd);
    if (l->json) {
        json_print(p, taken, fd >= 0);
        l->n++;
        return;
    }
    text_init(&program, name, sizeof name);
    text_printable(&program, p->program, 24);
    if (strncmp(p->name, p->program, strlen(p->name)) != 0) { /* of a script, the program is its interpreter */
        text_str(&program, " (");
        text_printable(&program, p->name, 24);
        text_char(&program, ')');
    }
    text_init(&anon, amount, sizeof amount);
    if (p->anon == PROCFS_UNKNOWN)
        text_str(&anon, "unknown");
    else
        text_amount(&anon, p->anon);
    if (!l->n++)
        printf("%7s  %-32s %10s  %-6s  %s\n", "PID", "PROGRAM", "RSSANON", "SOCKET", "SIGNAL");
    printf("%7d  %-32s %10s  %-6s  %s\n", (int)p->pid, name, amount, fd >= 0 ? "yes" : "no", taken ? taken : "?");
}

static int list(int argc, char **argv)
{
    struct listing l = {.json = argc > 1 && strcmp(argv[1], "--json") == 0};
    if (argc > 1 + l.json)
        return misused(&command_list, "\"%s\" is no option", argv[1 + l.json]);
    long unseen = hosts_each(list_one, &l);
    if (unseen > 0 && !l.n)
        complain("none of the processes that you may look into has the library (%ld belong to others; root sees them); start one by: giveback run -- PROGRAM",
                 unseen);
    else if (!unseen && !l.n)
        complain("no process has the library; start one by: giveback run -- PROGRAM");
    return unseen < 0 ? EXIT_NOT_DONE : EXIT_DONE;
}
