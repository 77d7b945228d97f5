/* printer WAY: says "the load has finished" in that way, then "all said" on stderr, and stays until stdin ends. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#include <wchar.h>

#define TEXT "the load has finished"
static const char line[] = TEXT "\n";
static struct iovec parts[] = {{"the lo", 6}, {"", 0}, {"ad has fin", 10}, {"ished\n", 6}};
static struct msghdr message = {.msg_iov = parts, .msg_iovlen = 4};

static void put(int fd, const char *text, size_t n)
{
    if (write(fd, text, n) != (ssize_t)n)
        _exit(3);
}

static void way_printf(void) { printf("%s %s\n", "the load", "has finished"); }
static void way_puts(void) { puts(TEXT); }
static void way_putc(void) { for (const char *c = line; *c; c++) putc_unlocked(*c, stdout); }
static void way_unbuffered(void) { setvbuf(stdout, NULL, _IONBF, 0); printf("%s %s\n", "the load", "has finished"); }
static void way_bytes(void) { for (size_t i = 0; i < sizeof line - 1; i++) put(1, line + i, 1); }
static void way_fwrite(void) { fwrite(line, 1, sizeof line - 1, stdout); }
static void way_two(void) { printf("the load ha"); fputs("s finished\n", stdout); }
static void way_stderr(void) { fprintf(stderr, TEXT " %d\n", 1); }
static void way_perror(void) { errno = ENOENT; perror(TEXT); }
static void way_wide(void) { fputws(L"the load has finished\n", stdout); }
static void way_warn(void) { warnx(TEXT); }
static void way_syslog(void) { openlog("printer", LOG_PERROR, LOG_USER); syslog(LOG_INFO, TEXT); }
static void way_dprintf(void) { dprintf(1, "%s\n", TEXT); }
static void way_cancelless(void) { FILE *f = fopen("/dev/stdout", "ac"); if (f) { fflush(f); (void)dup2(1, fileno(f)); fputs(line, f); fclose(f); } }
static void way_write(void) { put(1, line, sizeof line - 1); }
static void way_writev(void) { if (writev(2, parts, 4) < 0) _exit(3); }
static void way_pwritev2(void) { if (pwritev2(1, parts, 4, -1, 0) < 0) _exit(3); }
static void way_dup(void) { put(dup(1), line, sizeof line - 1); }
static void way_dup2(void) { put(dup2(2, 700), line, sizeof line - 1); }
static void way_dup3(void) { put(dup3(dup(1), 77, O_CLOEXEC), line, sizeof line - 1); }
static void way_fcntl(void) { put(fcntl(1, F_DUPFD_CLOEXEC, 100), line, sizeof line - 1); }
static void way_fdopen(void) { FILE *f = fdopen(dup(1), "w"); if (f) { fputs(line, f); fclose(f); } }
static void way_inherited(void) { put(9, line, sizeof line - 1); }
static void way_reopened(void) { FILE *f = fopen("/dev/stdout", "a"); if (f) { fputs(line, f); fclose(f); } }
static void way_openat(void) { put(openat(AT_FDCWD, "/proc/self/fd/2", O_WRONLY | O_APPEND | O_CREAT, 0600), line, sizeof line - 1); }
static void way_send(void) { if (send(1, line, sizeof line - 1, 0) < 0) _exit(3); }
static void way_sendto(void) { if (sendto(1, line, sizeof line - 1, MSG_NOSIGNAL, NULL, 0) < 0) _exit(3); }
static void way_sendmsg(void) { if (sendmsg(1, &message, 0) < 0) _exit(3); }

static void way_long(void)
{
    char *big = malloc(300000);
    memset(big, 'x', 300000);
    memcpy(big + 300000 - 10, "the load h", 10);
    fwrite(big, 1, 300000, stdout);
    fputs("as finished\n", stdout);
    free(big);
}

static void in_handler(int number) { (void)number; put(1, line, sizeof line - 1); }
static void way_handler(void) { signal(SIGALRM, in_handler); raise(SIGALRM); }

static void way_fork(void)
{
    way_write();
    if (fork() == 0) {
        char c;
        way_write();
        while (read(0, &c, 1) > 0)
            ;
        _exit(0);
    }
}

/* Not to be seen: it never stands in one line of one of the two, or not in either of them. */
static void way_vfork(void) { if (vfork() == 0) { put(1, line, sizeof line - 1); _exit(0); } (void)wait(NULL); }
static void way_streams(void) { put(1, "the load ", 9); put(2, "has finished\n", 13); put(1, "has gone\n", 9); }
static void way_lines(void) { printf("the load\nhas finished\n"); }
static void way_file(void) { int fd = open("file", O_CREAT | O_WRONLY, 0600); put(fd, line, sizeof line - 1); unlink("file"); }
static void way_reused(void)
{
    int copy = dup(1);
    close(copy);
    if (open("file", O_CREAT | O_WRONLY, 0600) != copy)
        _exit(4);
    put(copy, line, sizeof line - 1);
    unlink("file");
}
static void way_moved(void)
{
    int copy = dup(1);
    (void)dup2(open("file", O_CREAT | O_WRONLY, 0600), 1);
    put(copy, line, sizeof line - 1); /* what was stdout is not any more */
    (void)dup2(copy, 1);
    unlink("file");
}

static void *blocked(void *unused)
{
    static char much[1 << 20];
    (void)unused;
    put(1, much, sizeof much);
    return NULL;
}

static void way_cancel(void)
{
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, blocked, NULL);
    usleep(20000); /* likely in the call by then; cancelled at it otherwise */
    pthread_cancel(t);
    pthread_join(t, &result);
    fprintf(stderr, "%d\n", result == PTHREAD_CANCELED);
}

/* Writes that are cut short, refused, and at last cut off. */
static void way_full(void)
{
    static char much[40000];
    fcntl(1, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 5; i++) {
        errno = 0;
        ssize_t n = i == 3 ? writev(1, parts, 4) : write(1, much, sizeof much);
        fprintf(stderr, "%zd %d\n", n, errno);
    }
}
static void way_epipe(void) { signal(SIGPIPE, SIG_IGN); ssize_t n = write(1, line, 5); fprintf(stderr, "%zd %d\n", n, errno); }
static void way_sigpipe(void) { put(1, line, 5); }

#define WAY(name) {#name, way_##name}
static const struct { const char *name; void (*say)(void); } ways[] = {
    WAY(printf), WAY(puts), WAY(putc), WAY(unbuffered), WAY(bytes), WAY(fwrite), WAY(two), WAY(stderr), WAY(perror), WAY(wide), WAY(warn),
    WAY(syslog), WAY(dprintf), WAY(cancelless), WAY(write), WAY(writev), WAY(pwritev2), WAY(dup), WAY(dup2), WAY(dup3), WAY(fcntl), WAY(fdopen),
    WAY(inherited), WAY(reopened), WAY(openat), WAY(send), WAY(sendto), WAY(sendmsg), WAY(long), WAY(handler), WAY(fork), WAY(vfork), WAY(streams),
    WAY(lines), WAY(file), WAY(reused), WAY(moved), WAY(cancel), WAY(full), WAY(epipe), WAY(sigpipe),
};

int main(int argc, char **argv)
{
    char c;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            ways[i].say();
    fflush(stdout);
    put(2, "all said\n", 9);
    while (read(0, &c, 1) > 0)
        ;
    return 7;
}
