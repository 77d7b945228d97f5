/* options: shows the table of variables and that of kinds of events, for people and for the documents that are made from them. */
#include <string.h>

#include "command.h"
#include "options.h"

static int list(int argc, char **argv);
static void list_help(FILE *out);

const struct command command_options = {
    .name = "options",
    .arguments = "[--markdown|--mdoc]",
    .summary = "list the variables that steer the library, and the events",
    .run = list,
    .help = list_help,
};

static void list_help(FILE *out)
{
    fputs("Lists every variable with its option of `giveback run`, its values and its default, and the\n"
          "kinds of events that GIVEBACK_ON takes.\n"
          "  --markdown   as the table of README.md\n"
          "  --mdoc       as the list of giveback.1\n",
          out);
}

static const char *preset_text(const struct option_row *row)
{
    return *row->preset ? row->preset : "empty";
}

/* exit:TARGET, settle[:TIME] */
static const char *kind_text(enum event_kind kind)
{
    static char text[64];
    const struct event_row *row = &event_table[kind];
    const char *argument = row->argument;
    (void)snprintf(text, sizeof text, *argument == '[' ? "%s[:%s" : *argument ? "%s:%s" : "%s%s", row->name, argument + (*argument == '['));
    return text;
}

void options_print(FILE *out)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        fprintf(out, "  %s=%s", row->variable, row->argument);
        if (row->flag)
            fprintf(out, "  (--%s)", row->flag);
        fprintf(out, "  [%s]\n      %s\n", preset_text(row), row->help);
    }
    fputs("\nEvents, [LABEL=]KIND[:ARGUMENT][->ACTION], several with ';' between them:\n", out);
    for (enum event_kind kind = 0; kind < EVENT_KINDS; kind++)
        fprintf(out, "  %s\n      %s\n", kind_text(kind), event_table[kind].help);
}

void options_print_flags(FILE *out)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        if (row->flag)
            fprintf(out, "  --%s %s  [%s]\n      %s\n", row->flag, row->argument, preset_text(row), row->help);
    }
}

/* A cell of a table: '|' would end it, and what stands between angle brackets would be taken for HTML. */
static void markdown_cell(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void markdown_print(FILE *out)
{
    fputs("| variable | `run` option | values | default | meaning |\n|---|---|---|---|---|\n", out);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        fprintf(out, "| `%s` | ", row->variable);
        if (row->flag)
            fprintf(out, "`--%s`", row->flag);
        fputs(" | `", out);
        markdown_cell(out, row->argument);
        fprintf(out, "` | %s%s%s | ", *row->preset ? "`" : "", preset_text(row), *row->preset ? "`" : "");
        markdown_cell(out, row->help);
        fputs(" |\n", out);
    }
    fputs("\n| event of `GIVEBACK_ON` | comes when |\n|---|---|\n", out);
    for (enum event_kind kind = 0; kind < EVENT_KINDS; kind++) {
        fprintf(out, "| `%s` | ", kind_text(kind));
        markdown_cell(out, event_table[kind].help);
        fputs(" |\n", out);
    }
}

/* Text of mdoc: a backslash is an escape, and a line may not begin with a control character of roff. */
static void mdoc_text(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++)
        fputs(*text == '\\' ? "\\e" : (char[2]){*text, 0}, out);
}

static void mdoc_print(FILE *out)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        fprintf(out, ".It Ev %s Ns = Ns Ar ", row->variable);
        mdoc_text(out, row->argument);
        fputc('\n', out);
        if (row->flag)
            fprintf(out, "Option\n.Fl -%s\nof\n.Cm run .\n", row->flag);
        fputs("Default:\n", out);
        mdoc_text(out, preset_text(row));
        fputs(".\n.br\n", out);
        mdoc_text(out, row->help);
        fputs(".\n", out);
    }
    fputs(".El\n.Pp\nAn event of\n.Ev GIVEBACK_ON\ncomes when:\n.Bl -tag -width Ds\n", out);
    for (enum event_kind kind = 0; kind < EVENT_KINDS; kind++) {
        fprintf(out, ".It Cm %s\n", kind_text(kind));
        mdoc_text(out, event_table[kind].help);
        fputs(".\n", out);
    }
    fputs(".El\n", out);
}

static int list(int argc, char **argv)
{
    if (argc > 2)
        return misused(&command_options, "\"%s\" is too much", argv[2]);
    if (argc < 2)
        options_print(stdout);
    else if (strcmp(argv[1], "--markdown") == 0)
        markdown_print(stdout);
    else if (strcmp(argv[1], "--mdoc") == 0)
        mdoc_print(stdout);
    else
        return misused(&command_options, "\"%s\" is no option; expected --markdown or --mdoc", argv[1]);
    return EXIT_DONE;
}
