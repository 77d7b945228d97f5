/* linked: a host with the shim's own objects linked in, so that ThreadSanitizer sees both sides of every hand-over.
 *
 * Threads that allocate, one that asks for releases all the time, and meanwhile everything by which a host meets the
 * worker: fork, questions about the signal and other handlers, namespaces, and an exit that comes in the middle. */
#include <giveback.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ALLOCATING 2
#define ROUNDS 20
#define ASK_NS 1000000

static void sleep_ns(long ns)
{
    nanosleep(&(struct timespec){0, ns}, NULL);
}

static void *allocate(void *unused)
{
    for (;;) {
        char *block = malloc(100000);
        memset(block, 1, 100000);
        free(block);
    }
    return unused;
}

static void *ask(void *unused)
{
    for (;;) {
        kill(getpid(), SIGUSR1);
        sleep_ns(ASK_NS);
    }
    return unused;
}

/* A program that asks by itself. */
static void *call(void *unused)
{
    char record[200];
    for (;;) {
        giveback_release("tsan");
        giveback_last(record, sizeof record);
        giveback_mark(record); /* no result is looked at: the process may be ending */
        giveback_anon();
    }
    return unused;
}

static void handle(int number)
{
    (void)number;
}

/* What a library that borrows and questions signals does. */
static void *question(void *unused)
{
    struct sigaction own = {.sa_handler = handle}, seen;
    for (;;) {
        sigaction(SIGUSR1, NULL, &seen);
        if (seen.sa_handler != SIG_DFL)
            _exit(3); /* not exit: ending is another test */
        sigaction(SIGUSR2, &own, NULL);
        signal(SIGWINCH, SIG_IGN);
        sleep_ns(ASK_NS / 3);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    int status;

    for (int i = 0; i < ALLOCATING; i++)
        pthread_create(&thread, NULL, allocate, NULL);
    pthread_create(&thread, NULL, ask, NULL);
    pthread_create(&thread, NULL, question, NULL);
    pthread_create(&thread, NULL, call, NULL);
    pthread_create(&thread, NULL, call, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(7);
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
            return 4;
        if (unshare(CLONE_NEWUSER) == 0) /* with so many threads it must fail; the worker leaves for it all the same */
            return 5;
        sleep_ns(30000000);
    }
    return 0;
}
