/* program: see program.h. */
#include "program.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "command.h"
#include "machine.h"

enum { SCRIPTS = 4 /* interpreters that are scripts themselves, as the kernel allows */ };

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool find_in_path(const char *command, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");

    if (strchr(command, '/'))
        return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX && is_file(path);
    for (const char *p = folders ? folders : "/bin:/usr/bin"; p; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
        size_t n = strcspn(p, ":");
        if (snprintf(path, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? p : ".", command) < PATH_MAX && access(path, X_OK) == 0 && is_file(path))
            return true;
    }
    return false;
}

/* The interpreter that the first line of a script names, with `env NAME` looked up. false: it is no script. */
static bool script_interpreter(const char *path, char interpreter[PATH_MAX])
{
    char line[PATH_MAX], *rest = line + 2;
    FILE *f = fopen(path, "re");
    bool script = f && fgets(line, sizeof line, f) && strncmp(line, "#!", 2) == 0;

    if (f)
        (void)fclose(f);
    if (!script)
        return false;
    char *program = strtok_r(NULL, " \t\n", &rest), *word = strtok_r(NULL, " \t\n", &rest);
    const char *slash = program ? strrchr(program, '/') : NULL;
    if (slash && strcmp(slash, "/env") == 0)
        for (program = word; program && (*program == '-' || strchr(program, '='));)
            program = strtok_r(NULL, " \t\n", &rest);
    return program && find_in_path(program, interpreter);
}

bool program_find(const char *command, char path[PATH_MAX])
{
    char next[PATH_MAX];

    if (!find_in_path(command, path))
        return false;
    for (unsigned i = 0; i < SCRIPTS && script_interpreter(path, next); i++)
        memcpy(path, next, sizeof next);
    return true;
}

/* NULL: it cannot be opened, or is not ELF. */
static Elf *elf_open(const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0)
        return NULL;
    Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(*fd, ELF_C_READ, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        return elf;
    elf_end(elf);
    close(*fd);
    return NULL;
}

/* Its segment of that type. */
static bool segment_find(Elf *elf, unsigned type, GElf_Phdr *segment)
{
    size_t n = 0;
    bool found = false;

    if (elf_getphdrnum(elf, &n) != 0)
        return false;
    for (size_t i = 0; i < n && i <= INT_MAX && !found; i++)
        found = gelf_getphdr(elf, (int)i, segment) && segment->p_type == type;
    return found;
}

static bool loader_read(Elf *elf, char loader[PATH_MAX])
{
    GElf_Phdr p;
    if (!segment_find(elf, PT_INTERP, &p) || !p.p_filesz || p.p_filesz >= PATH_MAX || p.p_offset > INT64_MAX)
        return false;
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz, ELF_T_BYTE);
    if (!data || ((char *)data->d_buf)[p.p_filesz - 1])
        return false;
    memcpy(loader, data->d_buf, p.p_filesz);
    return true;
}

bool program_loader(const char *path, char loader[PATH_MAX])
{
    int fd;
    Elf *elf = elf_open(path, &fd);
    if (!elf)
        return false;
    bool found = loader_read(elf, loader);
    elf_end(elf);
    close(fd);
    return found;
}

/* Is it a position independent program? ld.so, which may be started as one and preloads, is none by this mark. */
static bool is_pie(Elf *elf)
{
    GElf_Phdr p;
    GElf_Dyn entry;
    bool pie = false;

    if (!segment_find(elf, PT_DYNAMIC, &p) || p.p_offset > INT64_MAX)
        return false;
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz, ELF_T_DYN);
    for (int i = 0; data && !pie && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
        pie = entry.d_tag == DT_FLAGS_1 && entry.d_un.d_val & DF_1_PIE;
    return pie;
}

/* What of the file stands in the way, and what to do about it, as the end of a sentence; NULL: nothing. */
static const char *file_refused(Elf *elf)
{
    char loader[PATH_MAX];
    GElf_Ehdr header;
    const char *slash;

    if (!gelf_getehdr(elf, &header))
        return NULL;
    if (header.e_machine != MACHINE || gelf_getclass(elf) != ELFCLASS64)
        return "is made for another type of machine than this library (" MACHINE_NAME ", 64 bits); take a build of it for that type";
    if (!loader_read(elf, loader))
        return header.e_type == ET_EXEC || is_pie(elf)
                   ? "is a static program, into which nothing is preloaded; take a build of it that is linked dynamically"
                   : NULL;
    slash = strrchr(loader, '/');
    if (strncmp(slash ? slash + 1 : loader, "ld-musl-", 8) == 0)
        return "is made for musl, and the library needs glibc; take a build of it for glibc (of a container: an image that is not Alpine's)";
    return NULL;
}

/* "COMMAND: PATH ...", or only the path where that is what was typed. */
__attribute__((format(printf, 3, 4))) static void refuse(const char *command, const char *path, const char *format, ...)
{
    char why[512];
    bool same = strcmp(command, path) == 0;
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    complain("%s%s%s %s", same ? "" : command, same ? "" : ": ", path, why);
}

/* ld.so ignores LD_PRELOAD where the kernel sets AT_SECURE: where exec changes the user, the group, or what the process may do. A
 * program of one's own user changes nothing, and root keeps what it has (kernel: security/commoncap.c). */
static bool rights_refused(const char *command, const char *path)
{
    struct stat status;
    struct statvfs mount;

    if (stat(path, &status) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || (statvfs(path, &mount) == 0 && mount.f_flag & ST_NOSUID))
        return false;
    bool user = status.st_mode & S_ISUID && status.st_uid != getuid();
    bool group = status.st_mode & S_ISGID && status.st_mode & S_IXGRP && status.st_gid != getgid();
    bool capable = getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
    if (user)
        refuse(command, path, "is setuid, so ld.so ignores LD_PRELOAD in it; start giveback as user %u; what starts other programs (sudo, su) goes "
               "in front of giveback", (unsigned)status.st_uid);
    else if (group)
        refuse(command, path, "is setgid, so ld.so ignores LD_PRELOAD in it; start giveback with group %u: setpriv --regid %u --clear-groups",
               (unsigned)status.st_gid, (unsigned)status.st_gid);
    else if (capable)
        refuse(command, path, "has capabilities of its own, so ld.so ignores LD_PRELOAD in it; start it as root, or take a copy, which has none, "
               "and give them by systemd's AmbientCapabilities=");
    return user || group || capable;
}

bool program_preloads(const char *command)
{
    char path[PATH_MAX];
    int fd;

    if (!program_find(command, path))
        return true;
    if (rights_refused(command, path))
        return false;
    Elf *elf = elf_open(path, &fd);
    if (!elf)
        return true;
    const char *why = file_refused(elf);
    if (why)
        refuse(command, path, "%s", why);
    elf_end(elf);
    close(fd);
    return !why;
}
