/* closure: see closure.h. */
#include "closure.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

enum { SCRIPTS = 4 /* interpreters that are scripts themselves, as the kernel allows */ };

static bool find_in_path(const char *command, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");

    if (strchr(command, '/'))
        return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX && access(path, R_OK) == 0;
    for (const char *p = folders ? folders : "/bin:/usr/bin"; p; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
        size_t n = strcspn(p, ":");
        if (snprintf(path, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? p : ".", command) < PATH_MAX && access(path, X_OK | R_OK) == 0)
            return true;
    }
    return false;
}

/* The interpreter that the first line of a script names, with `env NAME` looked up. false: it is no script. */
static bool script_interpreter(const char *path, char interpreter[PATH_MAX])
{
    char line[PATH_MAX], *rest = line + 2;
    FILE *f = fopen(path, "re");
    bool script = f && fgets(line, sizeof line, f) && strncmp(line, "#!", 2) == 0;

    if (f)
        (void)fclose(f);
    if (!script)
        return false;
    char *program = strtok_r(NULL, " \t\n", &rest), *word = strtok_r(NULL, " \t\n", &rest);
    const char *slash = program ? strrchr(program, '/') : NULL;
    if (slash && strcmp(slash, "/env") == 0)
        for (program = word; program && (*program == '-' || strchr(program, '='));)
            program = strtok_r(NULL, " \t\n", &rest);
    return program && find_in_path(program, interpreter);
}

/* What the program has itself loaded by (PT_INTERP). false: nothing. */
static bool loader_of(const char *path, char loader[PATH_MAX])
{
    FILE *f = fopen(path, "re");
    bool found = false;
    Elf64_Ehdr header;
    Elf64_Phdr p;

    if (f && fread(&header, sizeof header, 1, f) == 1 && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_ident[EI_CLASS] == ELFCLASS64)
        for (unsigned i = 0; i < header.e_phnum && !found; i++) {
            if (fseek(f, (long)(header.e_phoff + i * sizeof p), SEEK_SET) || fread(&p, sizeof p, 1, f) != 1)
                break;
            found = p.p_type == PT_INTERP && p.p_filesz && p.p_filesz < PATH_MAX && fseek(f, (long)p.p_offset, SEEK_SET) == 0 &&
                    fread(loader, p.p_filesz, 1, f) == 1 && !loader[p.p_filesz - 1];
        }
    if (f)
        (void)fclose(f);
    return found;
}

/* ld.so's own list, which is exact where a search of ours would only be near (cache, $ORIGIN, hwcaps, LD_PRELOAD). It runs
 * nothing of the program. */
static int list_libraries(const char *loader, const char *path, closure_visit visit, void *context)
{
    char *line = NULL;
    size_t size = 0;
    int ends[2], status;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        execl(loader, loader, "--list", path, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *list = pid > 0 ? fdopen(ends[0], "r") : NULL;
    while (list && getline(&line, &size, list) > 0) {
        char *from = strstr(line, "=> "), *end = strstr(line, " (0x");
        from = from ? from + 3 : line + strspn(line, "\t ");
        if (*from != '/' || !end || end < from)
            continue;
        *end = '\0';
        visit(context, from);
    }
    free(line);
    if (list)
        (void)fclose(list);
    else
        (void)close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int closure_read(const char *command, closure_visit visit, void *context)
{
    char path[PATH_MAX], next[PATH_MAX];

    if (!find_in_path(command, path)) {
        complain("%s: no such program; check its name and PATH", command);
        return -1;
    }
    for (unsigned i = 0; i < SCRIPTS && script_interpreter(path, next); i++)
        memcpy(path, next, sizeof path);
    visit(context, path);
    if (!loader_of(path, next))
        return 0;
    if (list_libraries(next, path, visit, context) != 0) {
        complain("%s --list %s does not say which libraries the program needs", next, path);
        return -1;
    }
    return 0;
}
