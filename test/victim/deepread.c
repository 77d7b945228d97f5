/* deepread own|ours: takes signals high up on its stack, then blocks in read far below, with what the signal frames have left
 * behind untouched between. own: a SIGCHLD to a handler of its own; ours: a SIGUSR1, sent by itself. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void on_child(int sig)
{
    (void)sig;
}

__attribute__((noinline)) static int read_below(volatile char *keep)
{
    volatile char unused[16384]; /* not written: the old frames lie in here */
    char c;
    unused[0] = keep[0];
    (void)write(1, "ready\n", 6);
    int r = (int)read(0, &c, 1);
    return r + unused[0];
}

int main(int argc, char **argv)
{
    char keep[64] = "";
    (void)signal(SIGCHLD, on_child);
    (void)raise(argc > 1 && strcmp(argv[1], "ours") == 0 ? SIGUSR1 : SIGCHLD);
    return read_below(keep) != 1;
}
