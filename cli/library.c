/* library: see library.h. */
#include "library.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "preload.h"
#include "self.h"

#define NAME "libgiveback.so"

/* ld.so separates the entries of LD_PRELOAD by these and has no way of quoting one. */
static const char separators[] = ": \t\n";

/* From the folder of the program: a build folder, then where `make install` puts it, for each usual LIBDIR. */
static const char *const places[] = {"", "../lib/", "../lib64/", "../lib/" GIVEBACK_TRIPLE "/"};
#define PLACES (sizeof places / sizeof *places)

static char *library_beside(void)
{
    char self[PATH_MAX];
    if (!self_folder(self)) {
        complain("/proc/self/exe cannot be read (%m), so " NAME " is not found; name it with --library FILE");
        return NULL;
    }
    for (size_t i = 0; i < PLACES; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s%s" NAME, self, places[i]) < 0)
            return NULL;
        char *real = realpath(path, NULL); /* ".." is not for a value that users see in LD_PRELOAD */
        free(path);
        if (real)
            return real;
    }
    complain(NAME " stands neither in %s nor in %s../lib; build it with `make`, or name it with --library FILE", self,
             self);
    return NULL;
}

/* Not realpath: a link may be there just because the real path holds a blank. */
static char *library_named(const char *named)
{
    char *path = NULL, *here = *named == '/' ? NULL : getcwd(NULL, 0);
    if (*named != '/' && !here) {
        complain("the current folder cannot be read (%m); name %s by its absolute path", named);
        return NULL;
    }
    if (asprintf(&path, "%s%s%s", here ? here : "", here ? "/" : "", named) < 0)
        path = NULL;
    free(here);
    if (path && access(path, R_OK) != 0) {
        complain("%s cannot be read (%m); --library expects the file " NAME, path);
        free(path);
        return NULL;
    }
    return path;
}

char *library_find(const char *named)
{
    char *path = named ? library_named(named) : library_beside();
    if (path && strpbrk(path, separators)) {
        complain("%s: ld.so cannot preload a path with a blank or ':' in it; install it elsewhere, or name a link to it "
                 "with --library",
                 path);
        free(path);
        return NULL;
    }
    return path;
}

char *library_preload(const char *inherited, const char *path)
{
    if (!inherited)
        inherited = "";
    for (const char *entry = inherited; *entry;) {
        size_t n = strcspn(entry, separators);
        if (n && preload_entry_is(entry, n, path))
            return strdup(inherited);
        entry += n + strspn(entry + n, separators);
    }
    /* Behind what stands there: a sanitizer's runtime refuses to start when it is not the first. */
    char *value = NULL;
    return asprintf(&value, "%s%s%s", inherited, *inherited ? ":" : "", path) < 0 ? NULL : value;
}
