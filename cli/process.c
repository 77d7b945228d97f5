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
#include "procfs.h"

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

static void file_take(struct process *p)
{
    static const char deleted[] = " (deleted)";
    char path[64], file[PATH_MAX + sizeof deleted];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)p->pid);
    ssize_t n = readlink(path, file, sizeof file - 1);
    file[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    size_t length = strlen(name), tail = sizeof deleted - 1;
    if (length > tail && strcmp(name + length - tail, deleted) == 0)
        length -= tail;
    (void)snprintf(p->file, sizeof p->file, "%.*s", (int)length, name);
}

int process_take(struct process *p, pid_t pid)
{
    struct procfs_memory memory;
    size_t n = 0;
    memset(p, 0, sizeof *p);
    p->pid = pid;
    p->handle = (int)syscall(SYS_pidfd_open, pid, 0);
    char *status = file_read(pid, "status", &n);
    if (!status) {
        int error = errno;
        process_free(p);
        return error;
    }
    status_take(p, status);
    procfs_memory_unknown(&memory);
    (void)procfs_status(status, n, &memory);
    p->anon = memory.anon;
    free(status);
    program_take(p);
    file_take(p);
    p->environment = file_read(pid, "environ", NULL);
    return 0;
}

bool process_read(struct process *p, const char *pid)
{
    char *end;
    errno = 0;
    long number = strtol(pid, &end, 10);
    if (*end || end == pid || errno || number < 1 || number > INT_MAX) {
        complain("\"%s\" is no process id; `giveback` lists the processes that have the library", pid);
        return false;
    }
    int error = process_take(p, (pid_t)number);
    if (error == ENOENT || error == ESRCH)
        complain("%s: there is no such process; `giveback` lists those that have the library", pid);
    else if (error)
        complain("%s: /proc/%s/status cannot be read: %s", pid, pid, strerror(error));
    return !error;
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

/* Where it is mapped and which file that is, as this process can open it; 0: nowhere, or errno is set and the maps cannot be read. */
static unsigned long library_mapped(const struct process *p, char *file, size_t size)
{
    errno = 0;
    char *maps = file_read(p->pid, "maps", NULL), *rest = maps, *line;
    unsigned long base = 0, found = 0, offset;
    int at = 0;
    while (maps && !found && (line = strsep(&rest, "\n"))) {
        char *slash = strrchr(line, '/');
        if (!slash || (strcmp(slash, LIBRARY) != 0 && strcmp(slash, LIBRARY " (deleted)") != 0) ||
            sscanf(line, "%lx-%*x %*s %lx %*s %*u %n", &base, &offset, &at) < 2 || offset != 0)
            continue;
        found = base;
        (void)snprintf(file, size, "/proc/%d/root%s", (int)p->pid, line + at);
    }
    if (maps)
        errno = 0;
    free(maps);
    return found;
}

int process_has_library(const struct process *p)
{
    char file[PATH_MAX + 32];
    return library_mapped(p, file, sizeof file) ? 1 : errno ? -1 : 0;
}

void process_library(const struct process *p, struct process_library *l)
{
    char path[PATH_MAX + 32];
    unsigned long base = library_mapped(p, path, sizeof path);
    memset(l, 0, sizeof *l);
    l->loaded = base != 0;
    uintptr_t where = l->loaded ? published_at(path) : 0;
    int number = 0;
    struct iovec here = {&number, sizeof number}, there = {(void *)(base + where), sizeof number};
    if (where && process_vm_readv(p->pid, &here, 1, &there, 1, 0) == sizeof number) {
        l->known = true;
        l->signal = number > 0 && number <= 64 && (p->caught >> (number - 1) & 1) ? number : 0;
    }
}

int process_signal(const struct process *p, int number)
{
    if (p->handle >= 0 && syscall(SYS_pidfd_send_signal, p->handle, number, NULL, 0) == 0)
        return 0;
    if (p->handle >= 0 && errno != ENOSYS)
        return errno;
    return kill(p->pid, number) == 0 ? 0 : errno;
}
