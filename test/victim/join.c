/* join CALL: the other ways of being blocked on a lawful futex or socket: pthread_join, a mutex, a barrier, accept, connect
 * to a full backlog, lockf. Ended by a line on stdin. EINTR must never be seen. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static struct sockaddr_in address = {.sin_family = AF_INET};
static int locked;

static void *finish(void *unused)
{
    char c;
    int s = socket(AF_INET, SOCK_STREAM, 0);
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    __atomic_store_n(&locked, 1, __ATOMIC_SEQ_CST);
    (void)read(0, &c, 1);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_unlock(&rwlock);
    (void)connect(s, (struct sockaddr *)&address, sizeof address);
    pthread_barrier_wait(&barrier);
    return unused;
}

int main(int argc, char **argv)
{
    const char *call = argv[argc - 1];
    socklen_t size = sizeof address;
    pthread_t thread;
    int r = -2, server = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)bind(server, (struct sockaddr *)&address, sizeof address);
    (void)listen(server, 5);
    (void)getsockname(server, (struct sockaddr *)&address, &size);
    pthread_barrier_init(&barrier, NULL, strcmp(call, "barrier") == 0 ? 2 : 1);
    pthread_create(&thread, NULL, finish, NULL);
    while (!__atomic_load_n(&locked, __ATOMIC_SEQ_CST))
        ;
    puts("ready");
    (void)fflush(stdout);
    errno = 0;
    if (strcmp(call, "join") == 0)
        r = pthread_join(thread, NULL);
    if (strcmp(call, "mutex") == 0)
        r = pthread_mutex_lock(&mutex);
    if (strcmp(call, "rwlock") == 0)
        r = pthread_rwlock_rdlock(&rwlock);
    if (strcmp(call, "barrier") == 0)
        r = pthread_barrier_wait(&barrier) > 0;
    if (strcmp(call, "accept") == 0)
        r = accept(server, NULL, NULL) > 0;
    printf("%s: %d errno %d\n", call, r, errno);
    return 0;
}
