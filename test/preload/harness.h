/* harness: runs a victim with and without the library and judges it from outside.
 *
 * A driver of this folder exports one `Suite *suite_NAME(void)` and one line SUITE(NAME) in suites.def; each test runs in
 * a process of its own (CK_FORK), which leads a process group, so that Check ends whatever a failed test left behind.
 * A victim (test/victim/NAME.c) says "ready" on stdout when there is something to look at, and ends when its stdin does.
 * Everything here may be called by the test only, aborts the test with a sentence when it cannot go on, and waits by
 * looking again until a deadline, never by sleeping for a guessed time. */
#ifndef TEST_HARNESS_H
#define TEST_HARNESS_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HARNESS_DEADLINE 45 /* seconds that anything may take on a loaded machine */
#define HARNESS_TIMEOUT 170 /* of one test, as Check counts it */

enum allocator { GLIBC, TCMALLOC, TCMALLOC_MINIMAL, JEMALLOC, MIMALLOC, TBB, ALLOCATORS };
enum place { WITHOUT, FIRST, LAST }; /* the library: not there, before the allocator in LD_PRELOAD, after it */

/* The matrix as the index of a loop test: tcase_add_loop_test(t, f, 0, CELLS). */
#define CELLS (2 * ALLOCATORS)
#define CELL_ALLOCATOR(i) ((enum allocator)((i) % ALLOCATORS))
#define CELL_PLACE(i) ((i) < ALLOCATORS ? FIRST : LAST)

struct host_setup {
    const char *const *argv; /* argv[0]: the name of a victim, or a path with '/' in it; ends with NULL */
    enum allocator allocator;
    enum place place;
    const char *const *env; /* NAME=VALUE, NULL at the end; the rest is PATH, LC_ALL, HOME, LD_PRELOAD, GIVEBACK_LOG, GIVEBACK_FORMAT */
    const char *preload;    /* what else stands in front in LD_PRELOAD, with the ':' behind it */
    const char *log;        /* GIVEBACK_LOG; NULL: a file of this host's own */
    const char *input;      /* stdin is this text and then its end; NULL: a pipe that host_say writes to */
    void (*before_exec)(void); /* in the child, before exec */
};

struct host {
    pid_t pid;
    int in;         /* the pipe to its stdin, -1: closed */
    int status;     /* as waitpid has it, valid when `ended` */
    bool ended;
    char dir[300];  /* its own scratch folder, removed by host_clean */
    char out[320], err[320], log[320];
};

/* Where things are: build/ (found from the driver's own path), the library (TEST_LIBRARY names another one: mutants). */
const char *harness_build(void);
const char *harness_library(void);
/* A path under build/victim, good until the next call. */
const char *harness_victim(const char *name);
/* What could not be run is said and counted; main prints the list. Returns true, for `if (x) { harness_skip(..); return; }` */
void harness_skip(const char *name, const char *reason);
/* Is the allocator installed? Says `skipped` itself when not. */
bool harness_allocator(enum allocator a, const char *name);
const char *allocator_name(enum allocator a);

/* For loops that wait: milliseconds of the monotonic clock, and a short pause before the next look. */
int64_t harness_now(void);
void harness_look_again(void);
/* Has it ended? Keeps the status. */
bool host_gone(struct host *h);
/* Fail, with everything that helps to see why. */
void host_fail(struct host *h, const char *what);

void host_start(struct host *h, const struct host_setup *s);
/* Short form: a victim with one argument (or NULL), under an allocator, the library at a place. */
void host_victim(struct host *h, const char *victim, const char *argument, enum allocator a, enum place p);
void host_say(struct host *h, const char *text);
void host_kill(const struct host *h, int sig);
/* Wait until a whole line of stdout is `line`, or for the n-th such line. Fails when the host ends before. */
void host_wait_line(struct host *h, const char *line);
void host_wait_lines(struct host *h, const char *line, unsigned n);
/* Wait until the log holds n lines with `text` in them. */
void host_wait_log(struct host *h, const char *text, unsigned n);
unsigned host_count_log(const struct host *h, const char *text);
/* Records (GIVEBACK_FORMAT=json is set), and the lines that are none: notices. */
unsigned host_records(const struct host *h);
unsigned host_notices(const struct host *h);
/* The n-th record, counted from 0, into the buffer; waits for it. */
void host_record(struct host *h, unsigned n, char *buffer, size_t size);
/* SIGUSR1, and wait for one record more than there was. */
void host_release(struct host *h);
/* Close stdin and wait for the end. */
int host_end(struct host *h);
/* SIGKILL and reap; nothing when it has ended. */
void host_stop(struct host *h);
/* Remove the scratch folder. Not called by a test that fails, so that one can look. */
void host_clean(struct host *h);

/* /proc/PID/status: bytes for `kB` lines, plain numbers, hexadecimal masks. */
int64_t host_status(const struct host *h, const char *key);
uint64_t host_mask(const struct host *h, const char *key);
int64_t host_anon(const struct host *h);
unsigned host_threads(const struct host *h);
/* The task id of the thread of that name, 0: none; of a process that is not the host itself: proc_thread. */
pid_t proc_thread(pid_t pid, const char *name);
pid_t host_worker(const struct host *h);
/* Wait until the worker is (not) there. */
void host_wait_worker(const struct host *h, bool there);
/* Every descriptor with its target, a line each, in order. */
void host_descriptors(const struct host *h, char *buffer, size_t size);
/* Wait until the main thread is blocked in this system call. */
void host_wait_syscall(const struct host *h, long number);

/* A whole file as text; "" when it is not there. */
char *file_text(const char *path);
bool file_exists(const char *path);
/* A number after "key": in a record, dotted for an inner object ("before.anon"); the test fails when it is missing. */
int64_t json_number(const char *record, const char *key);
/* The string after "key": or "null", into the buffer. */
void json_string(const char *record, const char *key, char *buffer, size_t size);

/* Signals at that rate until the host has ended by itself; how many were sent. */
unsigned host_storm(struct host *h, int sig, unsigned per_second);
/* Wait until the kernel says that a handler for the signal is installed (SigCgt). */
void host_wait_caught(struct host *h, int sig);

/* One signal once the main thread is blocked in that system call, and wait until it has been taken (a second one would be
 * lost while the first is pending). */
void host_deliver(struct host *h, int sig, long syscall);

/* Status, stdout and stderr of two hosts that have ended must be equal. */
void host_compare(struct host *bare, struct host *with, const char *what);
/* Run it without the library and with it to its end: status, stdout and stderr must be equal. At each of so many lines
 * "ready" it gets one line on stdin; with the library that many SIGUSR1 first, and a record for each is waited for.
 * Returns the wait status. */
int host_same(const struct host_setup *s, unsigned turns, unsigned releases);

/* The same with a host that blocks in that system call at "ready": with the library ten SIGUSR1, each taken before the next,
 * and at least one record; then a line, which ends the call. */
void host_blocked_same(const struct host_setup *s, long syscall, const char *what);

/* Control sockets (client.c): a connection, waited for; a negative errno when it cannot be made at once. */
int client_connect(struct host *h, const char *path);
int client_try(const char *path);
void client_say(int fd, const char *text);
/* The next line, waited for, with its '\n'; false: the socket was closed before its end. */
bool client_line(struct host *h, int fd, char *buffer, size_t size);
/* A request without its '\n', and its answer. */
void client_ask(struct host *h, int fd, const char *request, char *answer, size_t size);
/* The processor time of the worker, nanoseconds; and that it uses none to speak of while nothing happens. */
int64_t host_worker_cpu(const struct host *h);
void host_worker_rests(struct host *h, const char *when);

/* One function a driver; main.c runs them. */
#define SUITE(name) Suite *suite_##name(void);
#include "suites.def"
#undef SUITE

#endif
