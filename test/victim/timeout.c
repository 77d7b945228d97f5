/* timeout CALL: a call with a timeout of half a second, in a loop as a careful host writes it. It must end neither early
 * without EINTR nor much too late. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    const char *call = argv[argc - 1];
    struct epoll_event event;
    int e = epoll_create1(0), bad = 0;
    (void)write(1, "ready\n", 6);
    for (int i = 0; i < 3; i++) {
        long start = now_ms(), left;
        struct timespec half = {0, 500000000};
        while ((left = start + 500 - now_ms()) > 0) {
            struct timespec t = {0, left * 1000000};
            struct timeval tv = {0, left * 1000};
            long before = now_ms();
            int r = strcmp(call, "poll") == 0 ? poll(NULL, 0, (int)left) : strcmp(call, "ppoll") == 0 ? ppoll(NULL, 0, &t, NULL) :
                    strcmp(call, "select") == 0 ? select(0, NULL, NULL, NULL, &tv) :
                    strcmp(call, "epoll_wait") == 0 ? epoll_wait(e, &event, 1, (int)left) : strcmp(call, "nanosleep") == 0 ?
                    nanosleep(&half, &half) : strcmp(call, "clock") == 0 ?
                    clock_nanosleep(CLOCK_MONOTONIC, 0, &half, &half) * -1 : usleep((useconds_t)left * 1000);
            bad += r < 0 ? errno != EINTR && strcmp(call, "clock") != 0 : r != 0 || now_ms() - before < left - 1;
        }
        bad += now_ms() - start > 30000;
    }
    dprintf(1, "bad %d\n", bad);
    return bad;
}
