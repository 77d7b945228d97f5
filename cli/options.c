/* options: shows the one table of variables, for people and for the documents that are made from it. */
#include "command.h"
#include "options.h"

static int list(int argc, char **argv);
static void list_help(FILE *out);

const struct command command_options = {
    .name = "options",
    .arguments = "[--markdown|--mdoc]",
    .summary = "list the variables that steer the library",
    .run = list,
    .help = list_help,
};

static void list_help(FILE *out)
{
    fputs("Lists every variable with its option of `giveback run`, its values and its default.\n"
          TABLE_HELP,
          out);
}

static const char *preset_text(const struct option_row *row)
{
    return *row->preset ? row->preset : "empty";
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
}

void options_print_flags(FILE *out)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        if (row->flag)
            fprintf(out, "  --%s %s  [%s]\n      %s\n", row->flag, row->argument, preset_text(row), row->help);
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
        table_markdown(out, row->argument);
        fprintf(out, "` | %s%s%s | ", *row->preset ? "`" : "", preset_text(row), *row->preset ? "`" : "");
        table_markdown(out, row->help);
        fputs(" |\n", out);
    }
}

static void mdoc_print(FILE *out)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        fprintf(out, ".It Ev %s Ns = Ns Ar ", row->variable);
        table_mdoc(out, row->argument);
        fputc('\n', out);
        if (row->flag)
            fprintf(out, "Option\n.Fl -%s\nof\n.Cm run .\n", row->flag);
        fputs("Default:\n", out);
        table_mdoc(out, preset_text(row));
        fputs(".\n.br\n", out);
        table_mdoc(out, row->help);
        fputs(".\n", out);
    }
    fputs(".El\n", out);
}

static const struct table table = {options_print, markdown_print, mdoc_print};

static int list(int argc, char **argv)
{
    return table_run(&command_options, &table, argc, argv);
}
