/* The part of the harness that reads a host from outside: /proc, and records. */
#include "harness.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Look until `wanted` says yes, at most HARNESS_DEADLINE seconds. */
static bool until(bool (*wanted)(const struct host *, long), const struct host *h, long argument)
{
    for (int i = 0; i < HARNESS_DEADLINE * 500; i++) {
        if (wanted(h, argument))
            return true;
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return false;
}

/* The text behind "Key:" in /proc/PID/status. */
static void status_value(const struct host *h, const char *key, char *value, size_t size)
{
    char path[64], wanted[64];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)h->pid);
    (void)snprintf(wanted, sizeof wanted, "\n%s:", key);
    char *text = file_text(path), *at = strstr(text, wanted);
    ck_assert_msg(at, "no %s in %s", key, path);
    (void)snprintf(value, size, "%.*s", (int)strcspn(at + 1, "\n"), at + strlen(wanted));
    free(text);
}

int64_t host_status(const struct host *h, const char *key)
{
    char value[256];
    status_value(h, key, value, sizeof value);
    int64_t n = strtoll(value, NULL, 10);
    return strstr(value, " kB") ? n * 1024 : n;
}

uint64_t host_mask(const struct host *h, const char *key)
{
    char value[256];
    status_value(h, key, value, sizeof value);
    return strtoull(value, NULL, 16);
}

int64_t host_anon(const struct host *h)
{
    return host_status(h, "RssAnon");
}

unsigned host_threads(const struct host *h)
{
    char path[64];
    unsigned n = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)h->pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

pid_t proc_thread(pid_t pid, const char *name)
{
    char path[300];
    pid_t found = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        (void)snprintf(path, sizeof path, "/proc/%d/task/%.20s/comm", (int)pid, e->d_name);
        char *comm = file_text(path);
        comm[strcspn(comm, "\n")] = 0;
        if (strcmp(comm, name) == 0)
            found = (pid_t)atoi(e->d_name);
        free(comm);
    }
    if (d)
        closedir(d);
    return found;
}

pid_t host_worker(const struct host *h)
{
    return proc_thread(h->pid, "giveback");
}

static bool worker_there(const struct host *h, long there)
{
    return (host_worker(h) != 0) == (there != 0);
}

void host_wait_worker(const struct host *h, bool there)
{
    ck_assert_msg(until(worker_there, h, there), "the worker is still %s", there ? "not there" : "there");
}

static int by_number(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void host_descriptors(const struct host *h, char *buffer, size_t size)
{
    char path[64], target[256];
    int list[4096];
    size_t n = 0, len = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)h->pid);
    DIR *d = opendir(path);
    ck_assert_msg(d, "cannot list %s", path);
    for (struct dirent *e; (e = readdir(d)) && n < 4096;)
        if (e->d_name[0] != '.')
            list[n++] = atoi(e->d_name);
    closedir(d);
    qsort(list, n, sizeof *list, by_number);
    buffer[0] = 0;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)h->pid, list[i]);
        ssize_t k = readlink(path, target, sizeof target - 1);
        target[k > 0 ? k : 0] = 0;
        len += (size_t)snprintf(buffer + len, size - len, "%d -> %s\n", list[i], target);
        ck_assert_msg(len < size, "more descriptors than the buffer takes");
    }
}

static bool in_syscall(const struct host *h, long number)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/syscall", (int)h->pid);
    char *text = file_text(path);
    bool yes = text[0] >= '0' && text[0] <= '9' && strtol(text, NULL, 10) == number;
    free(text);
    return yes;
}

void host_wait_syscall(const struct host *h, long number)
{
    ck_assert_msg(until(in_syscall, h, number), "the main thread never blocked in system call %ld", number);
}

/* Where the value of a dotted key begins. */
static const char *json_at(const char *record, const char *key)
{
    char part[64];
    const char *at = record;
    while (*key) {
        size_t n = strcspn(key, ".");
        (void)snprintf(part, sizeof part, "\"%.*s\"", (int)n, key);
        at = strstr(at, part);
        ck_assert_msg(at, "no %s in the record %s", part, record);
        at += strlen(part);
        key += n + (key[n] == '.');
    }
    return at + strspn(at, ": ");
}

int64_t json_number(const char *record, const char *key)
{
    const char *at = json_at(record, key);
    char *end;
    int64_t n = strtoll(at, &end, 10);
    ck_assert_msg(end != at, "%s is no number in the record %s", key, record);
    return n;
}

void json_string(const char *record, const char *key, char *buffer, size_t size)
{
    const char *at = json_at(record, key);
    if (*at == '"')
        (void)snprintf(buffer, size, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
    else
        (void)snprintf(buffer, size, "null");
}
