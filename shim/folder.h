/* folder: what the worker makes in the file system (a FIFO, a socket) and removes again. It works through a descriptor of the
 * folder, so that what the host does meanwhile (chroot, chdir, another user id) and what others do to the path changes nothing.
 *
 * Worker only. */
#ifndef GIVEBACK_FOLDER_H
#define GIVEBACK_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct folder_file {
    int folder;     /* O_PATH; -1: none */
    bool ours;      /* we have made it: these two are what it was then */
    dev_t device;
    ino_t inode;
    char name[256]; /* in the folder */
};

/* The folder of an absolute path, made (0700) where `make`, private where `only` (place.h). 0, or -errno; *wrong: what is wrong with
 * it, then -EPERM. */
int folder_open(struct folder_file *f, const char *path, bool make, bool only, const char **wrong);
/* The same for the file at `path`: its folder, which has to be there, and its name. */
int folder_open_of(struct folder_file *f, const char *path, const char **wrong);
void folder_close(struct folder_file *f);
/* The file of this name: 0, or -errno (-ENOENT: there is none). Follows no link. */
int folder_stat(const struct folder_file *f, const char *name, struct stat *st);
/* It has just been made. */
void folder_made(struct folder_file *f);
/* Removes it, if it is ours and still the same. */
void folder_remove(struct folder_file *f);

#endif
