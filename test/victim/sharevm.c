/* A child made by clone(CLONE_VM) shares the memory: the host uses SIGUSR1 there for itself, and is not disturbed. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stage;

static int child_main(void *unused)
{
    char c;
    (void)unused;
    while (stage == 0 && read(0, &c, 1) > 0) /* signals come to this process */
        stage = 1;
    return 11;
}

int main(void)
{
    int status = 0;
    char *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pid_t child = clone(child_main, stack + (1 << 20), CLONE_VM | SIGCHLD, NULL);
    printf("ready\nchild %d\n", (int)child); /* here: the child has this thread's own data too, and does without libc */
    (void)fflush(stdout);
    while (waitpid(child, &status, 0) < 0)
        ;
    printf("status %x stage %d\n", (unsigned)status, stage);
    return 0;
}
