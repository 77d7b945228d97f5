/* table: what `options` and `events` have in common: a table of the library, for people and for the documents. */
#include <string.h>

#include "command.h"

/* A cell of a table: '|' would end it, and what stands between angle brackets would be taken for HTML. */
void table_markdown(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', out);
        fputc(*text, out);
    }
}

/* Text of mdoc: a backslash is an escape, and a line may not begin with a control character of roff. */
void table_mdoc(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++)
        fputs(*text == '\\' ? "\\e" : (char[2]){*text, 0}, out);
}

int table_run(const struct command *c, const struct table *t, int argc, char **argv)
{
    if (argc > 2)
        return misused(c, "\"%s\" is too much", argv[2]);
    if (argc < 2)
        t->text(stdout);
    else if (strcmp(argv[1], "--markdown") == 0)
        t->markdown(stdout);
    else if (strcmp(argv[1], "--mdoc") == 0)
        t->mdoc(stdout);
    else
        return misused(c, "\"%s\" is no option; expected --markdown or --mdoc", argv[1]);
    return EXIT_DONE;
}
