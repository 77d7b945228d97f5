/* setuid and setgid of a threaded program reach every thread by a signal of glibc's own; a thread that blocks it hangs them. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *idle(void *unused)
{
    pause();
    return unused;
}

int main(void)
{
    pthread_t thread;
    char c;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, idle, NULL);
    puts("ready");
    (void)fflush(stdout);
    (void)read(0, &c, 1);
    int group = setgid(65534), user = setuid(65534);
    printf("setgid %d setuid %d uid %d gid %d\n", group, user, (int)getuid(), (int)getgid());
    return 0;
}
