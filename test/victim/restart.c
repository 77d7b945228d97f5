/* restart CALL: blocks in a call that SA_RESTART restarts, while signals come, until the driver says a line on stdin (read
 * by a helper thread where the call does not read it itself). EINTR must never be seen. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2], lock_fd, fifo_fd;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pid_t child;
#define IS(name) (strcmp(call, name) == 0)

/* What ends the call: the driver's line, taken by a forked child or by a thread. */
static void *finish(void *unused)
{
    char c;
    (void)read(0, &c, 1);
    (void)flock(lock_fd, LOCK_UN);
    if (child == 0)
        (void)send(pair[1], "x", 1, 0);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    sem_post(&semaphore);
    if (fifo_fd)
        (void)open("fifo", O_WRONLY);
    return unused;
}

int main(int argc, char **argv)
{
    const char *call = argv[argc - 1];
    char buffer[8];
    long r = 0;
    pthread_t thread;
    struct iovec v = {buffer, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    (void)socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    int other = open("lock", O_RDWR | O_CREAT, 0600);
    lock_fd = open("lock", O_RDWR);
    (void)flock(lock_fd, LOCK_EX);
    sem_init(&semaphore, 0, 0);
    if (strncmp(call, "wait", 4) == 0 && (child = fork()) == 0)
        _exit(read(0, buffer, 1) == 1 ? 5 : 6);
    if (strcmp(call, "open") == 0)
        fifo_fd = mkfifo("fifo", 0600) == 0;
    if (strcmp(call, "read") != 0 && !child)
        pthread_create(&thread, NULL, finish, NULL);
    puts("ready");
    (void)fflush(stdout);
    errno = 0;
    if (IS("cond"))
        pthread_mutex_lock(&mutex);
    r = IS("read") ? read(0, buffer, 1) : IS("recv") ? recv(pair[0], buffer, 1, 0) : IS("recvmsg") ? recvmsg(pair[0], &m, 0) :
        IS("readv") ? readv(pair[0], &v, 1) : IS("flock") ? flock(other, LOCK_EX) : IS("wait") ? wait(NULL) == child :
        IS("waitpid") ? waitpid(child, NULL, 0) == child : IS("cond") ? pthread_cond_wait(&cond, &mutex) :
        IS("open") ? open("fifo", O_RDONLY) > 0 : IS("sem") ? sem_wait(&semaphore) : -2;
    printf("%s: %ld errno %d\n", call, r, errno);
    return 0;
}
