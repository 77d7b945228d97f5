/* preset: see preset.h. */
#include "preset.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "self.h"

/* A build folder, then where `make install` puts them. */
static const char *const places[] = {"presets/", "../share/giveback/presets/"};
#define PLACES (sizeof places / sizeof *places)

/* The names of the first folder that is there. */
static void complain_of_name(const char *name, const char *self)
{
    char folder[PATH_MAX + 64], list[256] = "";
    struct dirent **entries;
    int n = -1;

    for (size_t i = 0; i < PLACES && n < 0; i++) {
        (void)snprintf(folder, sizeof folder, "%s%s", self, places[i]);
        n = scandir(folder, &entries, NULL, alphasort);
    }
    if (n < 0) {
        complain("--preset %s: there are no presets in %s%s and %s%s; a file elsewhere is named with a '/' in it", name, self, places[0], self, places[1]);
        return;
    }
    for (int i = 0; i < n; i++) {
        size_t used = strlen(list), more = strlen(entries[i]->d_name) + 3;
        if (entries[i]->d_name[0] != '.' && used + more < sizeof list) {
            strcat(list, used ? ", " : "");
            strcat(list, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    complain("--preset %s: no such preset; there are: %s; a file elsewhere is named with a '/' in it", name, list);
}

static FILE *preset_open(const char *name, char path[PATH_MAX + 320])
{
    char self[PATH_MAX];
    FILE *f = NULL;

    if (strchr(name, '/')) {
        (void)snprintf(path, PATH_MAX + 320, "%s", name);
        if (!(f = fopen(path, "re")))
            complain("--preset %s cannot be read: %m", path);
        return f;
    }
    if (!self_folder(self)) {
        complain("/proc/self/exe cannot be read (%m), so presets are not found; name one by its path");
        return NULL;
    }
    for (size_t i = 0; i < PLACES && !f && *name && *name != '.' && strlen(name) < 256; i++) {
        (void)snprintf(path, PATH_MAX + 320, "%s%s%s", self, places[i], name);
        f = fopen(path, "re");
    }
    if (!f)
        complain_of_name(name, self);
    return f;
}

/* The variable of that line, and where its value begins; OPTION_COUNT: none. */
static enum option_id variable_of(const char *line, const char **value)
{
    size_t n = strcspn(line, "="), i = 0;
    while (i < OPTION_COUNT && !(line[n] && strlen(option_table[i].variable) == n && strncmp(option_table[i].variable, line, n) == 0))
        i++;
    *value = line + n + 1;
    return (enum option_id)i;
}

int preset_read(const char *name, preset_visit visit, void *context)
{
    char path[PATH_MAX + 320], *line = NULL;
    size_t size = 0;
    int status = EXIT_DONE;
    FILE *f = preset_open(name, path);

    if (!f)
        return EXIT_USAGE;
    errno = 0;
    for (unsigned number = 1; status == EXIT_DONE && getline(&line, &size, f) > 0; number++) {
        const char *value;
        line[strcspn(line, "\n")] = 0;
        if (!line[strspn(line, " \t")] || *line == '#')
            continue;
        enum option_id id = variable_of(line, &value);
        if (id == OPTION_COUNT) {
            complain("%s:%u: expected a comment (#) or NAME=VALUE of a variable that `giveback options` lists", path, number);
            status = EXIT_USAGE;
        } else if ((status = visit(context, id, value)) != EXIT_DONE) {
            complain("%s:%u: that is where it stands", path, number);
        }
    }
    if (ferror(f)) {
        complain("%s cannot be read: %s", path, strerror(errno));
        status = EXIT_USAGE;
    }
    free(line);
    (void)fclose(f);
    return status;
}
