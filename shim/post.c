#include "post.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "sys.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* A page of its own, since madvise works on whole pages (aarch64 kernels have pages of up to 64 KiB; glibc before 2.35
 * aligns an object to the kernel's page only, which is enough). */
#ifdef __aarch64__
#define POST_PAGE 65536
#else
#define POST_PAGE 4096
#endif
static union {
    struct post post;
    char room[POST_PAGE];
} post_page __attribute__((aligned(POST_PAGE)));
static bool post_started;

void post_reset(void)
{
    memset(&post_page.post, 0, sizeof post_page.post);
}

void post_start(void)
{
    if (sys3(SYS_madvise, &post_page, sizeof post_page, MADV_WIPEONFORK) < 0)
        pthread_atfork(NULL, NULL, post_reset);
    post_page.post.pid = (int)sys0(SYS_getpid);
    post_started = true;
}

struct post *post_own(void)
{
    struct post *p = &post_page.post;
    int pid, nobody = 0;

    if (!post_started)
        return NULL;
    pid = (int)sys0(SYS_getpid);
    if (__atomic_load_n(&p->pid, __ATOMIC_RELAXED) == pid ||
        __atomic_compare_exchange_n(&p->pid, &nobody, pid, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) || nobody == pid)
        return p;
    return NULL;
}

const struct post *post_look(void)
{
    return &post_page.post;
}

void post_rearm(struct post *p)
{
    for (unsigned event = 0; event < POST_EVENTS; event++)
        __atomic_store_n(&p->due[event], 0, __ATOMIC_SEQ_CST);
}

bool post_has_worker(struct post *p)
{
    return __atomic_load_n(&p->worker, __ATOMIC_SEQ_CST) != POST_NO_WORKER;
}

bool post_needs_worker(const struct post *p)
{
    return __atomic_load_n(&p->pending, __ATOMIC_SEQ_CST) || __atomic_load_n(&p->wanted, __ATOMIC_SEQ_CST);
}

void post_kick(struct post *p)
{
    struct itimerspec now = {{0, 0}, {0, 1}};
    int kick = __atomic_load_n(&p->kick, __ATOMIC_SEQ_CST);

    if (kick)
        sys4(SYS_timer_settime, kick - 1, 0, &now, NULL);
    else
        post_wake((int *)&p->pending);
}

unsigned post_events(struct post *p, unsigned event, unsigned times)
{
    unsigned asked = __atomic_add_fetch(&p->asked[event], times, __ATOMIC_SEQ_CST);

    __atomic_store_n(&p->pending, 1, __ATOMIC_SEQ_CST);
    if (post_has_worker(p))
        post_kick(p);
    return asked;
}

unsigned post_event(struct post *p, unsigned event)
{
    return post_events(p, event, 1);
}

unsigned post_take(struct post *p, unsigned event, unsigned *upto)
{
    *upto = __atomic_load_n(&p->asked[event], __ATOMIC_SEQ_CST);
    return *upto - __atomic_load_n(&p->done[event], __ATOMIC_SEQ_CST);
}

void post_progress(struct post *p)
{
    __atomic_add_fetch(&p->progress, 1, __ATOMIC_SEQ_CST);
    post_wake((int *)&p->progress);
}

void post_done(struct post *p, unsigned event, unsigned upto)
{
    __atomic_store_n(&p->done[event], upto, __ATOMIC_SEQ_CST);
    post_progress(p);
}

void post_forget(struct post *p)
{
    unsigned upto;

    __atomic_store_n(&p->pending, 0, __ATOMIC_SEQ_CST);
    for (unsigned event = 0; event < POST_EVENTS; event++)
        if (post_take(p, event, &upto))
            post_done(p, event, upto);
    post_rearm(p);
}

int post_wait(int *word, int value, long ns)
{
    struct timespec limit = {ns / 1000000000, ns % 1000000000};

    return (int)sys4(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns < 0 ? NULL : &limit);
}

void post_wake(int *word)
{
    sys3(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
}
