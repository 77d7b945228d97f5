/* process: see process.h. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "command.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#define LIBRARY "/libgiveback.so"
#define PUBLISHED "giveback_signal" /* shim/signal.c */

/* The whole of /proc/PID/NAME with a NUL more, to be freed; NULL: errno says why. */
static char *file_read(pid_t pid, const char *name, size_t *size)
{
    char path[64];
    size_t n = 0, room = 4096;
    ssize_t got = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *text = malloc(room);
    while (text && (got = read(fd, text + n, room - n - 2)) > 0) {
        n += (size_t)got;
        if (room - n < 1024) {
            char *more = realloc(text, room *= 2);
            if (!more)
                free(text);
            text = more;
        }
    }
    int error = errno;
    close(fd);
    if (text && got < 0) {
        free(text);
        text = NULL;
    }
    errno = error;
    if (text)
        text[n] = text[n + 1] = 0;
    if (size)
        *size = n;
    return text;
}

/* The text behind "\nKEY:\t", up to the end of the line; "" when there is none. */
static const char *status_value(const char *status, const char *key)
{
    static char value[256];
    const char *at = status;
    size_t n = strlen(key);
    while (at && !(strncmp(at, key, n) == 0 && at[n] == ':'))
        if ((at = strchr(at, '\n')))
            at++;
    at = at ? at + n + 1 : "";
    at += strspn(at, " \t");
    (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\n"), at);
    return value;
}

static void status_take(struct process *p, const char *status)
{
    unsigned effective = 0;
    (void)snprintf(p->name, sizeof p->name, "%s", status_value(status, "Name"));
    p->state = status_value(status, "State")[0];
    if (sscanf(status_value(status, "Uid"), "%*u %u", &effective) == 1)
        p->uid = effective;
    p->caught = strtoull(status_value(status, "SigCgt"), NULL, 16);
    p->strict = atoi(status_value(status, "Seccomp")) == 1;
    const char *ids = status_value(status, "NSpid"), *last = strrchr(ids, '\t');
    p->inner = *ids ? atoi(last ? last + 1 : ids) : p->pid;
}

static void program_take(struct process *p)
{
    char *line = file_read(p->pid, "cmdline", NULL);
    const char *slash = line ? strrchr(line, '/') : NULL;
    (void)snprintf(p->program, sizeof p->program, "%s", slash ? slash + 1 : line && *line ? line : p->name);
    free(line);
}

bool process_read(struct process *p, const char *pid)
{
    char *end;
    errno = 0;
    long number = strtol(pid, &end, 10);
    memset(p, 0, sizeof *p);
    p->handle = -1;
    if (*end || end == pid || errno || number < 1 || number > INT_MAX) {
        complain("\"%s\" is no process id; `pgrep -a NAME` lists those of a program", pid);
        return false;
    }
    p->pid = (pid_t)number;
    p->handle = (int)syscall(SYS_pidfd_open, p->pid, 0);
    char *status = file_read(p->pid, "status", NULL);
    if (!status) {
        if (errno == ENOENT || errno == ESRCH)
            complain("%s: there is no such process; `pgrep -a NAME` lists those of a program", pid);
        else
            complain("%s: /proc/%s/status cannot be read: %m", pid, pid);
        process_free(p);
        return false;
    }
    status_take(p, status);
    free(status);
    program_take(p);
    p->environment = file_read(p->pid, "environ", NULL);
    return true;
}

void process_free(struct process *p)
{
    if (p->handle >= 0)
        close(p->handle);
    free(p->environment);
    p->handle = -1;
    p->environment = NULL;
}

const char *process_variable(const struct process *p, const char *name)
{
    size_t n = strlen(name);
    for (const char *e = p->environment; e && *e; e += strlen(e) + 1)
        if (strncmp(e, name, n) == 0 && e[n] == '=')
            return e + n + 1;
    return NULL;
}

/* Where the published variable lies in the file, as an address relative to the first byte that is mapped; 0: nowhere. */
static uintptr_t published_at(const char *path)
{
    uintptr_t at = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
        return 0;
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    for (Elf_Scn *section = NULL; elf && !at && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        GElf_Sym symbol;
        Elf_Data *data = NULL;
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
            data = elf_getdata(section, NULL);
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
            const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
            if (name && strcmp(name, PUBLISHED) == 0 && symbol.st_shndx != SHN_UNDEF)
                at = symbol.st_value;
        }
    }
    elf_end(elf);
    close(fd);
    return at;
}

void process_library(const struct process *p, struct process_library *l)
{
    char *maps = file_read(p->pid, "maps", NULL), *rest = maps, *line, path[PATH_MAX + 32];
    unsigned long base = 0, offset;
    int at = 0;
    memset(l, 0, sizeof *l);
    while (maps && !l->loaded && (line = strsep(&rest, "\n"))) {
        char *slash = strrchr(line, '/');
        if (!slash || (strcmp(slash, LIBRARY) != 0 && strcmp(slash, LIBRARY " (deleted)") != 0) ||
            sscanf(line, "%lx-%*x %*s %lx %*s %*u %n", &base, &offset, &at) < 2 || offset != 0)
            continue;
        l->loaded = true;
        (void)snprintf(path, sizeof path, "/proc/%d/root%s", (int)p->pid, line + at);
    }
    uintptr_t where = l->loaded ? published_at(path) : 0;
    int number = 0;
    struct iovec here = {&number, sizeof number}, there = {(void *)(base + where), sizeof number};
    if (where && process_vm_readv(p->pid, &here, 1, &there, 1, 0) == sizeof number) {
        l->known = true;
        l->signal = number > 0 && number <= 64 && (p->caught >> (number - 1) & 1) ? number : 0;
    }
    free(maps);
}

int process_signal(const struct process *p, int number)
{
    if (p->handle >= 0 && syscall(SYS_pidfd_send_signal, p->handle, number, NULL, 0) == 0)
        return 0;
    if (p->handle >= 0 && errno != ENOSYS)
        return errno;
    return kill(p->pid, number) == 0 ? 0 : errno;
}
