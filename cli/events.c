/* events: shows the one table of what GIVEBACK_ON can name. */
#include "command.h"
#include "event.h"

static int list(int argc, char **argv);
static void list_help(FILE *out);

const struct command command_events = {
    .name = "events",
    .arguments = "[--markdown|--mdoc]",
    .summary = "list the events that can force a release",
    .run = list,
    .help = list_help,
};

static void list_help(FILE *out)
{
    fputs("Lists what GIVEBACK_ON, or --on of `giveback run`, can name: [LABEL=]KIND[:ARGUMENT][->ACTION]\n"
          "  ACTION   release (the default), or mark: only a record of the memory\n"
          "  SIZE     a number and perhaps K, M or G (1024)\n"
          "  TIME     a number and ms, s, m or h\n" TABLE_HELP,
          out);
}

/* exit:TARGET, settle[:TIME] */
static void form(const struct event_row *row, char *buffer, size_t size)
{
    bool optional = row->argument[0] == '[';

    snprintf(buffer, size, "%s%s%s", row->name, optional ? "[:" : row->argument[0] ? ":" : "", row->argument + optional);
}

static const char *delay(const struct event_row *row)
{
    return row->automatic ? "waits for GIVEBACK_INTERVAL" : "at once";
}

static void text_print(FILE *out)
{
    char name[64];

    for (size_t i = 0; i < EVENT_KINDS; i++) {
        form(&event_table[i], name, sizeof name);
        fprintf(out, "  %s  (%s)\n      %s\n", name, delay(&event_table[i]), event_table[i].help);
    }
}

static void markdown_print(FILE *out)
{
    char name[64];

    fputs("| event | when it comes | carried out |\n|---|---|---|\n", out);
    for (size_t i = 0; i < EVENT_KINDS; i++) {
        form(&event_table[i], name, sizeof name);
        fputs("| `", out);
        table_markdown(out, name);
        fputs("` | ", out);
        table_markdown(out, event_table[i].help);
        fprintf(out, " | %s |\n", delay(&event_table[i]));
    }
}

static void mdoc_print(FILE *out)
{
    char name[64];

    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < EVENT_KINDS; i++) {
        form(&event_table[i], name, sizeof name);
        fputs(".It Ar ", out);
        table_mdoc(out, name);
        fputc('\n', out);
        table_mdoc(out, event_table[i].help);
        fprintf(out, "; %s.\n", delay(&event_table[i]));
    }
    fputs(".El\n", out);
}

static int list(int argc, char **argv)
{
    static const struct table table = {text_print, markdown_print, mdoc_print};

    return table_run(&command_events, &table, argc, argv);
}
