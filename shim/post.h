/* post: the hand-over from a handler or an interposed function to the worker. Async-signal-safe throughout.
 *
 * All of it lives in one page that the kernel wipes in a forked child (MADV_WIPEONFORK), whichever way it was forked:
 * such a child finds zeros, which mean "no worker, nothing pending, gate open". A vfork child (or any other process
 * that shares our memory) finds its parent's page with its parent's pid in it, and keeps its hands off. */
#ifndef GIVEBACK_POST_H
#define GIVEBACK_POST_H

#include <stdbool.h>
#include <stdint.h>

#include "sys.h"

enum post_worker { POST_NO_WORKER, POST_STARTING, POST_RUNNING };

/* Event 0 is the signal; then come those of GIVEBACK_ON in their order, and what a program asks by a call (cooperate): with a label, a
 * release without one that nobody waits for, and a question. */
enum { POST_SIGNAL = 0, POST_CALL_RELEASE = 17, POST_CALL_MARK, POST_CALL_LATE, POST_CALL_ANON, POST_EVENTS };
#define POST_LABEL_MAX 64

struct post {
    int pid;          /* whose page this is; 0: nobody's yet */
    unsigned pending; /* not zero: the worker has something to look at; its futex */
    int kick;         /* the id of the timer that wakes the worker from poll, + 1; 0: none, it waits on the futex (watch) */
    int wanted;       /* a worker is wanted though nothing is pending: there is something to be looked at */
    unsigned asked[POST_EVENTS]; /* how often each event has come, */
    unsigned done[POST_EVENTS];  /* and how many of these have been carried out (both count round) */
    int owner;        /* the thread that waits at a safe point for what it asked; 0: none (safe) */
    unsigned progress; /* its futex: changes whenever it should look again */
    void *flush;      /* the allocator whose caches of its own it is to empty now; NULL: none */
    char label[POST_LABEL_MAX]; /* of what the owner has asked by a call */
    int result;       /* what that call returns */
    int64_t anon;     /* the answer to POST_CALL_ANON */
    int worker;       /* enum post_worker */
    int worker_tid;   /* of the running worker, or of the last one while it ends; 0: none */
    int64_t worker_left_ms; /* CLOCK_MONOTONIC, when that last one decided to end */
    int held;         /* more than 0: no worker may be started (a host thread is about to need to be the only one) */
    int quit;         /* the worker is to end now */
    int inside;       /* the worker is inside an allocator or ld.so (gate) */
    int shut;         /* more than 0: it must not go in (gate) */
    int ending;       /* the process is in exit() */
    int files;        /* how many files the worker has made that are to go at exit; a futex (watch) */
    unsigned tries;   /* handler runs that found no proof, since the last worker started */
    int retry_busy;   /* these four: retry.c; its lock, and how many found it taken, */
    int retry_signal; /* the signal that it uses while it tries, 0: none, */
    int timer;        /* the id of its timer + 1; 0: none */
    int next_thread;  /* where to go on looking for another thread to try */
    uintptr_t own[2]; /* sys_thread of the worker, and of the thread that is making it: what they do is not the host's */
    uint64_t due[POST_EVENTS]; /* the amount at which an event is reached (mapping); 0: it counts from now on */
};

/* Once, from the constructor. */
void post_start(void);
/* This process's page; NULL before our start, when we are off, and in a process that only shares another's memory: do
 * nothing then. */
struct post *post_own(void);
/* The page, whoever's it is: to be read only. Before our start, and when we are off, it is zeros. */
const struct post *post_look(void);
/* Is the calling thread ours, or just doing our work? */
static inline bool post_is_own_thread(const struct post *p)
{
    uintptr_t self = sys_thread();

    return __atomic_load_n(&p->own[0], __ATOMIC_RELAXED) == self || __atomic_load_n(&p->own[1], __ATOMIC_RELAXED) == self;
}
/* Every amount counts from now on. */
void post_rearm(struct post *p);
/* One more event of that number; wakes the worker if there is one. How often it has come now. */
unsigned post_event(struct post *p, unsigned event);
/* The same for several at once. */
unsigned post_events(struct post *p, unsigned event, unsigned times);
/* Take what has come for an event and was not carried out: how many, and up to which. */
unsigned post_take(struct post *p, unsigned event, unsigned *upto);
/* They are carried out, or given up; wakes who waits for it. */
void post_done(struct post *p, unsigned event, unsigned upto);
/* Give up all that is pending. */
void post_forget(struct post *p);
/* Whoever waits at a safe point is to look again. */
void post_progress(struct post *p);
/* The worker is to look now. */
void post_kick(struct post *p);
/* Is there something to do for a worker? */
bool post_needs_worker(const struct post *p);
/* Is there a worker, or one being started? */
bool post_has_worker(struct post *p);
/* For kernels before 4.14, which cannot wipe: called in the child by atfork. */
void post_reset(void);

int post_wait(int *word, int value, long ns); /* futex; ns < 0: for ever. 0 or -errno */
void post_wake(int *word);

#endif
