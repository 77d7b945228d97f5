/* command: the subcommands of the tool, one file each, and how they report. */
#ifndef GIVEBACK_COMMAND_H
#define GIVEBACK_COMMAND_H

#include <stdio.h>

/* What every subcommand returns to the shell. */
enum { EXIT_DONE = 0, EXIT_NOT_DONE = 1, EXIT_USAGE = 2 };

struct command {
    const char *name;
    const char *arguments; /* as the usage line shows them */
    const char *summary;   /* one line for the list */
    int (*run)(int argc, char **argv); /* argv[0] is the subcommand's name */
    void (*help)(FILE *out);           /* what stands below the usage line; NULL: the summary says it all */
};

extern const struct command command_run, command_symbols, command_options, command_events;
extern const struct command command_release, command_mark, command_pause, command_resume, command_status, command_list;

/* One line on stderr: "giveback: ..." */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
/* A complaint about how the subcommand was called, with where to read on; returns EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int misused(const struct command *c, const char *format, ...);

/* A table of the library, shown in three ways. */
struct table {
    void (*text)(FILE *out), (*markdown)(FILE *out), (*mdoc)(FILE *out);
};
#define TABLE_HELP \
    "  --markdown   as the table of README.md\n" \
    "  --mdoc       as the list of giveback.1\n"
/* Carries out a command that shows one; takes none or one argument. */
int table_run(const struct command *c, const struct table *t, int argc, char **argv);
/* A cell of a Markdown table, and text of mdoc. */
void table_markdown(FILE *out, const char *text);
void table_mdoc(FILE *out, const char *text);

/* The table of variables as text, and only those that `giveback run` has an option for, by that option. */
void options_print(FILE *out);
void options_print_flags(FILE *out);

#endif
