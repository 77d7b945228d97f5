/* Coroutines on small stacks of their own (makecontext), one of which blocks in poll when signals come. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

static ucontext_t main_context, context[2];
static int turns;

static void run(int me)
{
    struct pollfd p = {0, POLLIN, 0};
    char c;
    for (;;) {
        turns++;
        if (me == 1 && poll(&p, 1, -1) == 1 && read(0, &c, 1) == 0)
            swapcontext(&context[me], &main_context);
        swapcontext(&context[me], &context[1 - me]);
    }
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        getcontext(&context[i]);
        context[i].uc_stack.ss_sp = malloc(16384);
        context[i].uc_stack.ss_size = 16384;
        makecontext(&context[i], (void (*)(void))run, 1, i);
    }
    puts("ready");
    (void)fflush(stdout);
    swapcontext(&main_context, &context[0]);
    printf("turns %d\n", turns);
    return 0;
}
