/* worker: the one thread the library may have in a host. It is started by an event, carries out what is posted, and ends
 * when nothing has come for a while: an idle thread is not free (glibc's single-threaded fast paths, Python's warning
 * at fork, unshare). Only where there is something that it alone can see (watch) it is there from the start and stays. */
#ifndef GIVEBACK_WORKER_H
#define GIVEBACK_WORKER_H

#include <stdbool.h>
#include <stddef.h>

struct event;
struct post;
struct settings;

/* Once, from the constructor: looks the thread library up. The events are those of GIVEBACK_ON. */
void worker_start(const struct settings *s, const struct event *events, size_t n, const char *program);
/* Can a thread be made at all? (old glibc without libpthread: no) */
bool worker_possible(void);
/* Make it. Only at a point where the calling thread is in no allocator and in nothing that holds a lock which
 * pthread_create needs, and has every signal blocked (the new thread inherits that, and must not run a handler of the
 * host's in its first moments); the caller has set p->worker to POST_STARTING. 0 or an errno value (then the state is
 * POST_NO_WORKER again). */
int worker_create(struct post *p);
/* Host thread: no worker may start from now on; one that runs ends, and is gone from /proc/self/task on return, if it
 * can be brought to it within two seconds. worker_release() allows it again. */
void worker_hold(struct post *p);
void worker_release(struct post *p);

#endif
