/* notice: the few lines that are not records: why something will not happen. Each is said at most once a process.
 *
 * From any context, a handler and an interposed function included: one raw write, nothing else. They stand apart from
 * records because there may be no worker to write them, and never will be. */
#ifndef GIVEBACK_NOTICE_H
#define GIVEBACK_NOTICE_H

#include <stdbool.h>

enum notice {
    NOTICE_SIGNAL_OWNED,   /* the host has, or installs, a handler of its own, SIG_IGN, or SIG_DFL explicitly */
    NOTICE_RESTRICTED,     /* seccomp or landlock came after our start: no thread is made any more */
    NOTICE_NO_THREAD,      /* pthread_create failed */
    NOTICE_NO_THREADS_LIB, /* old glibc without libpthread */
    NOTICE_NO_PROOF,       /* no thread was found at a point where the worker may be started */
    NOTICE_FOREIGN_THREAD, /* the only thread there is was not made by libc (raw clone) */
    NOTICE_UNWATCHED,      /* no worker for what GIVEBACK_ON has polled */
    NOTICE_LATE,           /* loaded by dlopen: the host's signals cannot be seen any more */
    NOTICE_COUNT
};

struct settings;

/* Once, from the constructor. */
void notice_start(const struct settings *s);
/* `error`: an errno value to add, or 0. */
void notice_say(enum notice what, int error);
/* The same where it was no signal that came, but an event of GIVEBACK_ON, or a call of the program's own. */
void notice_say_event(enum notice what, int error);
void notice_say_call(enum notice what, int error);
/* The worker has something to say; each time. */
void notice_worker(const char *line);
/* A bad value, from the constructor, or a function that cannot be hooked: any number of them. */
void notice_complain(void *unused, const char *line);

#endif
