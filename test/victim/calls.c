/* calls WAY: calls the functions of giveback.h where it is awkward, and says what they return; errno must stay. */
#include <errno.h>
#include <giveback.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 16
#define EACH 20

static char record[4096];
static volatile sig_atomic_t handled, strange;

static void *many(void *number)
{
    char label[32];
    intptr_t bad = 0;
    for (int i = 0; i < EACH; i++) {
        (void)snprintf(label, sizeof label, "t%d.%d", (int)(intptr_t)number, i);
        errno = 78;
        bad += i % 4 == 3 ? giveback_mark(label) != 1 : i % 4 == 2 ? giveback_anon() <= 0 : giveback_release(label) < 1;
        bad += errno != 78;
        memset(label, '#', sizeof label); /* it was copied */
    }
    return (void *)bad;
}

static void in_threads(void)
{
    pthread_t threads[THREADS];
    void *bad;
    intptr_t all = 0;
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, many, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &bad);
        all += (intptr_t)bad;
    }
    printf("bad: %d\n", (int)all);
    errno = 77; /* an allocator's own doing when threads are made */
}

/* GIVEBACK_CALL names this: the library's own thread comes back to it. */
static volatile int within[4];
__attribute__((visibility("default"))) void from_within(void);
void from_within(void)
{
    within[0] = giveback_release("within");
    within[1] = giveback_mark("within");
    within[2] = giveback_anon() == -1;
    within[3]++;
}

/* exit: names this one: its own release is done when the end of it gives back again. */
__attribute__((noinline, visibility("default"))) int hooked_here(int n);
int hooked_here(int n)
{
    return giveback_release("inside") + n;
}

static void look(int number)
{
    char mine[4096];
    int saved = errno, n = giveback_last(mine, sizeof mine);
    (void)number;
    handled++;
    if (n && (n >= (int)sizeof mine || strncmp(mine, "{\"v\":1", 6) != 0 || mine[n - 1] != '}'))
        strange++;
    errno = saved;
}

static void in_handler(void)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    (void)signal(SIGALRM, look);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 300; i++)
        (void)giveback_mark(i % 2 ? "odd" : "a rather longer label, so that records differ in length");
    (void)setitimer(ITIMER_REAL, &never, NULL);
    printf("handled: %d strange: %d\n", handled > 10, (int)strange);
}

static void in_child(void)
{
    int before = giveback_release("parent") > 0 && giveback_release("parent") > 0, status;
    if (fork() == 0) {
        int none = giveback_last(NULL, 0), n = giveback_release("child");
        _exit(none ? 1 : n < 1 ? 2 : giveback_last(record, sizeof record) < 1 || !strstr(record, "\"child\"") ? 3 : 0);
    }
    (void)wait(&status);
    printf("parent: %d child: %d\n", before, WEXITSTATUS(status));
    pid_t pid = vfork();
    if (pid == 0)
        _exit(giveback_release("vforked") == 0 && giveback_anon() == -1 ? 0 : 4);
    (void)waitpid(pid, &status, 0);
    printf("vfork: %d last: %d\n", WEXITSTATUS(status), giveback_last(record, sizeof record) > 0 && strstr(record, "\"parent\""));
}

static void at_exit(void)
{
    (void)giveback_release("at exit"); /* returns, whatever it can still do */
    (void)write(1, "left\n", 5);
}

static void small(void)
{
    char guarded[8] = "1234567";
    (void)giveback_mark("\x01 \"quoted\" \xff and much longer than the sixty-three bytes that are kept of a label");
    int n = giveback_last(guarded, 4);
    printf("%d %.3s %d %c %d\n", n > 100, guarded, guarded[3], guarded[4], giveback_last(NULL, 0) == n);
    printf("%d %d\n", giveback_mark(NULL), giveback_mark(""));
}

/* A filter that allows everything is a filter: no thread is made any more. */
static void restricted(void)
{
    struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog program = {1, &allow};
    int filtered = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) | prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    printf("restricted: %d %d %d %d\n", filtered, giveback_release("a"), giveback_mark("b"), (int)giveback_anon());
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    char c;
    errno = 77;
    if (strcmp(way, "exit") == 0)
        (void)atexit(at_exit);
    if (strcmp(way, "threads") == 0)
        in_threads();
    else if (strcmp(way, "handler") == 0)
        in_handler();
    else if (strcmp(way, "fork") == 0)
        in_child();
    else if (strcmp(way, "restricted") == 0)
        restricted();
    else if (strcmp(way, "small") == 0)
        small();
    else if (strcmp(way, "hook") == 0)
        printf("hooked: %d\n", hooked_here(100) > 100);
    else
        printf("released: %d\n", giveback_release("once") > 0);
    if (within[3]) /* the mark comes behind whatever that has left to be done */
        printf("within: %d %d %d, %d times, then %d\n", within[0], within[1], within[2], within[3], giveback_mark("after"));
    printf("errno %d\n", errno);
    puts("ready");
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        ;
    return 0;
}
