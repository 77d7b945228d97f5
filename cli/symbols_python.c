/* symbols_python: functions of Python files, as CPython's own parser sees them: `python3 -I` runs symbols_python.py. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "symbols.h"

/* The text of symbols_python.py, with a NUL behind it. */
__asm__(".section .rodata.symbols_python_code, \"a\"\n"
        "symbols_python_code:\n"
        ".incbin \"cli/symbols_python.py\"\n"
        ".byte 0\n"
        ".previous");
extern const char symbols_python_code[] __attribute__((visibility("hidden")));

enum { FIELDS = 6, EXIT_NO_PYTHON = 127 };

static FILE *python_start(const char *what, pid_t *pid)
{
    int ends[2];

    if (pipe2(ends, 0) != 0)
        return NULL;
    *pid = fork();
    if (*pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        execlp("python3", "python3", "-I", "-c", symbols_python_code, what, (char *)NULL);
        _exit(EXIT_NO_PYTHON);
    }
    (void)close(ends[1]);
    if (*pid > 0)
        return fdopen(ends[0], "r");
    (void)close(ends[0]);
    return NULL;
}

/* module, name, file, line, lines, reason */
static void python_line(struct symbols *s, char *line)
{
    char *field[FIELDS];
    char *copy = strdup(line), *target = NULL;
    bool exactly;

    for (size_t i = 0; copy && i < FIELDS; i++) {
        field[i] = strsep(&copy, "\t\n");
        if (!field[i])
            return;
    }
    if (!copy || asprintf(&target, "py:%s:%s", field[0], field[1]) < 0) {
        s->exhausted = true;
        return;
    }
    if (symbols_match(s, field[1], target, NULL, &exactly)) {
        struct symbol symbol = {.object = field[0], .path = field[2], .name = field[1], .value = strtoul(field[3], NULL, 10),
                                .size = strtoul(field[4], NULL, 10), .why = field[5]};
        symbol.verdict = *symbol.why ? VERDICT_NO : VERDICT_YES;
        symbols_add(s, &symbol);
    }
    free(target);
}

int symbols_add_python(struct symbols *s, const char *what)
{
    char *line = NULL;
    size_t size = 0;
    int status;
    pid_t pid;
    FILE *out = python_start(what, &pid);

    if (!out) {
        complain("python3 cannot be started: %m");
        return -1;
    }
    while (getline(&line, &size, out) > 0)
        python_line(s, line);
    free(line);
    (void)fclose(out);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_PYTHON)
        complain("%s: there is no python3 here, whose parser would be needed to read it", what);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
