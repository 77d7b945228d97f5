/* closure: see closure.h. */
#include "closure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "program.h"

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
    char path[PATH_MAX], loader[PATH_MAX];

    if (!program_find(command, path)) {
        complain("%s: no such program; check its name and PATH", command);
        return -1;
    }
    visit(context, path);
    if (!program_loader(path, loader))
        return 0;
    if (list_libraries(loader, path, visit, context) != 0) {
        complain("%s --list %s does not say which libraries the program needs", loader, path);
        return -1;
    }
    return 0;
}
