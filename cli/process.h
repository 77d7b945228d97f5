/* process: what /proc tells of another process. */
#ifndef GIVEBACK_PROCESS_H
#define GIVEBACK_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    int handle;          /* pidfd; -1: the kernel has none (before 5.3) */
    pid_t inner;         /* its id in its own pid namespace */
    uid_t uid;           /* whom it runs as */
    char state;          /* R S D T t Z */
    bool strict;         /* seccomp's strict mode, in which a signal kills */
    uint64_t caught;     /* signals it has handlers for */
    char name[64];
    char program[64];    /* as it was called, without folders */
    char file[256];      /* its executable, without folders; empty where that cannot be read */
    int64_t anon;        /* RssAnon in bytes; PROCFS_UNKNOWN */
    char *environment;   /* NAME=VALUE, each with its NUL, a further one at the end; empty where it cannot be read or was overwritten */
};

/* false after a complaint that says what to do next. */
bool process_read(struct process *p, const char *pid);
/* The same without a complaint: 0, or an errno value. */
int process_take(struct process *p, pid_t pid);
void process_free(struct process *p);
/* A variable of the environment it started with; NULL: unset, or unknown. */
const char *process_variable(const struct process *p, const char *name);

/* The library in it. */
struct process_library {
    bool loaded;
    bool known; /* could it be asked? Needs the right to trace it. */
    int signal; /* whose handler is the library's; 0: none */
};
void process_library(const struct process *p, struct process_library *l);
/* Only the first of these. -1: its maps cannot be read. */
int process_has_library(const struct process *p);
/* 0, or an errno value. */
int process_signal(const struct process *p, int number);

#endif
