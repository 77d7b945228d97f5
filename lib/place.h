/* place: where control sockets are, by the same rules for those who make them and those who look for them. Pure. */
#ifndef GIVEBACK_PLACE_H
#define GIVEBACK_PLACE_H

#include <stddef.h>
#include <sys/stat.h>

/* The i-th folder to try for a user: `named` (GIVEBACK_DIR) alone where that is not empty, else `runtime` (XDG_RUNTIME_DIR, "": not
 * set)/giveback, /run/user/UID/giveback, /tmp/giveback-UID. Sets *parent to the length of the part that has to be there
 * already. 0, -ENOENT behind the last, -ENAMETOOLONG. */
int place_folder(unsigned i, const char *named, const char *runtime, unsigned uid, char *path, size_t size, size_t *parent);
/* PID.sock */
void place_name(int pid, char *name, size_t size);

enum { PLACE_NAME_MAX = 24 };

/* What is wrong with a folder in which `uid` makes something, NULL: nothing. Another user must not be able to put something else
 * there: it is his own or root's, and others write there only where they cannot remove what is not theirs. `only`: nobody
 * else may even look into it. */
const char *place_folder_wrong(const struct stat *st, unsigned uid, int only);
/* The same of a FIFO or socket (`kind`: S_IFIFO, S_IFSOCK) that is there already. */
const char *place_file_wrong(const struct stat *st, unsigned uid, mode_t kind);

#endif
