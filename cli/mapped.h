/* mapped: the ELF files that a process has mapped as code, each once. */
#ifndef GIVEBACK_MAPPED_H
#define GIVEBACK_MAPPED_H

#include <sys/types.h>

/* An open descriptor of each, which the visitor owns, with its path as the process sees it; -1: it is the vDSO. */
typedef void (*mapped_visit)(void *context, int fd, const char *path);
/* 0, or -1 after a complaint. A file that cannot be opened is complained of and left out. */
int mapped_read(pid_t pid, mapped_visit visit, void *context);

#endif
