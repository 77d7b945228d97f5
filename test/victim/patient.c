/* patient CALL: as nowake, with the calls that are not about descriptors: sigwaitinfo, msgrcv, sem_timedwait and
 * clock_nanosleep until a far moment. A helper thread ends the call at a line on stdin. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <time.h>
#include <unistd.h>

#define IS(name) (strcmp(call, name) == 0)
static const char *call;
static int queue = -1;
static sem_t semaphore;
static pthread_t main_thread;

static void *finish(void *unused)
{
    struct { long type; char text[4]; } message = {1, "end"};
    char c;
    sigset_t all;
    sigfillset(&all); /* so that the signals go to the thread that blocks */
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    (void)read(0, &c, 1);
    (void)write(1, "line\n", 5);
    sem_post(&semaphore);
    if (IS("sigwaitinfo"))
        pthread_kill(main_thread, SIGTERM);
    if (IS("msgrcv"))
        (void)msgsnd(queue, &message, sizeof message.text, 0);
    if (IS("sleep_until"))
        pthread_cancel(main_thread); /* nothing else ends it */
    return unused;
}

int main(int argc, char **argv)
{
    char message[64];
    struct timespec far;
    pthread_t thread;
    sigset_t term;
    call = argv[argc - 1];
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &term, NULL);
    (void)clock_gettime(CLOCK_REALTIME, &far);
    far.tv_sec += 1000;
    sem_init(&semaphore, 0, 0);
    queue = IS("msgrcv") ? msgget(IPC_PRIVATE, 0600) : -1;
    main_thread = pthread_self();
    pthread_create(&thread, NULL, finish, NULL);
    (void)write(1, "ready\n", 6);
    errno = 0;
    int r = IS("sigwaitinfo") ? sigwaitinfo(&term, NULL) : IS("sem_timedwait") ? sem_timedwait(&semaphore, &far) :
            IS("msgrcv") ? (int)msgrcv(queue, message, sizeof message - sizeof(long), 0, 0) :
            clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &far, NULL);
    dprintf(1, "%s: %d errno %d\n", call, r, errno);
    return queue < 0 ? 0 : msgctl(queue, IPC_RMID, NULL);
}
