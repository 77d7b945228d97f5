/* main: finds the subcommand. */
#include <stdarg.h>
#include <string.h>

#include "command.h"

static int help_run(int argc, char **argv);

static const struct command command_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "say what a command does and takes",
    .run = help_run,
};

static const struct command *const commands[] = {&command_run,    &command_list,    &command_release, &command_mark,   &command_pause,
                                               &command_resume, &command_status, &command_symbols, &command_options, &command_events, &command_help};
#define COMMANDS (sizeof commands / sizeof *commands)

void complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("giveback: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

int misused(const struct command *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "giveback %s: ", c->name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see: giveback help %s\n", c->name);
    va_end(arguments);
    return EXIT_USAGE;
}

static const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static void help_print(FILE *out)
{
    fputs("usage: giveback [COMMAND [ARGUMENTS]]\n"
          "Makes unmodified programs give the memory that their allocators hold back to the kernel.\n\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-9s %-36s %s\n", commands[i]->name, commands[i]->arguments, commands[i]->summary);
    fputs("\nThe library is steered by these variables, or by the options of `giveback run`:\n", out);
    options_print(out);
    fputs("\nExit status: 0 done, 1 the thing asked did not happen, 2 usage.\n", out);
}

static void help_command(const struct command *c)
{
    printf("usage: giveback %s %s\n", c->name, c->arguments);
    if (c->help)
        c->help(stdout);
    else
        printf("%s\n", c->summary);
}

static int help_run(int argc, char **argv)
{
    if (argc > 2)
        return misused(&command_help, "one command at a time, \"%s\" is too much", argv[2]);
    if (argc < 2) {
        help_print(stdout);
        return EXIT_DONE;
    }
    const struct command *c = command_find(argv[1]);
    if (!c)
        return misused(&command_help, "\"%s\" is no command", argv[1]);
    help_command(c);
    return EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--json") == 0)
        return command_list.run(argc, argv);
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        help_print(stdout);
        return EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("giveback " GIVEBACK_VERSION);
        return EXIT_DONE;
    }
    const struct command *c = command_find(name);
    if (!c) {
        complain("\"%s\" is no command; expected one of those that `giveback help` lists", name);
        return EXIT_USAGE;
    }
    if (argc > 2 && strcmp(argv[2], "--help") == 0) {
        help_command(c);
        return EXIT_DONE;
    }
    return c->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc, argv);
    /* A full disk or a reader that has gone shows only when the buffer is written. */
    if (fflush(stdout) || ferror(stdout)) {
        complain("the output could not be written: %m");
        return EXIT_NOT_DONE;
    }
    return status;
}
