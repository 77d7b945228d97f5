/* wrap_namespace: unshare and setns, some of whose flags work only in a process with one thread. The worker is gone when
 * they are called, and comes back with the next event. Host threads. */
#include <sched.h>

#include "post.h"
#include "real.h"
#include "signal.h"
#include "worker.h"

#define WRAP __attribute__((visibility("default")))

static void wrap_allow(struct post *p)
{
    if (!p)
        return;
    worker_release(p);
    if (post_needs_worker(p))
        signal_retry(p);
}

static struct post *wrap_hold(void)
{
    struct post *p = post_own();

    if (p)
        worker_hold(p);
    return p;
}

WRAP int unshare(int flags)
{
    struct post *p = wrap_hold();
    int r = REAL(unshare)(flags);

    wrap_allow(p);
    return r;
}

WRAP int setns(int fd, int type)
{
    struct post *p = wrap_hold();
    int r = REAL(setns)(fd, type);

    wrap_allow(p);
    return r;
}
