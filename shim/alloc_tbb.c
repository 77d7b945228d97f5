/* TBB's scalable allocator (libtbbmalloc, also behind libtbbmalloc_proxy). One command cleans every thread's buffers. */
#include "alloc.h"

#include <errno.h>

enum { TBB_COMMAND, TBB_MALLOC, TBB_FREE };
/* TBBMALLOC_CLEAN_ALL_BUFFERS, TBBMALLOC_CLEAN_THREAD_BUFFERS, and what it returns: TBBMALLOC_OK, TBBMALLOC_NO_EFFECT */
enum { TBB_CLEAN_ALL_BUFFERS = 0, TBB_CLEAN_THREAD_BUFFERS = 1, TBB_OK = 0, TBB_NO_EFFECT = 4 };

/* Its data is zero until the first block is asked for: of 33 pages none is there in a copy that is loaded and not used, 29
 * after one block (2021.8). libtbb loads it on its own, used or not. */
static bool tbb_touched(const struct alloc_copy *c, const struct object *o)
{
    (void)c;
    return object_bss_touched(o);
}

/* The command crashes in a copy that is not initialised (seen with 2021.8). Touched data need not mean that it is (huge
 * pages asked for, nothing allocated), so a block is taken first, which initialises under TBB's own lock. */
static int tbb_command(const struct alloc_copy *c, int command)
{
    ((void (*)(void *))c->at[TBB_FREE])(((void *(*)(size_t))c->at[TBB_MALLOC])(1));
    return ((int (*)(int, void *))c->at[TBB_COMMAND])(command, NULL);
}

static void tbb_flush(const struct alloc_copy *c)
{
    tbb_command(c, TBB_CLEAN_THREAD_BUFFERS);
}

static int tbb_step(struct alloc_copy *c, unsigned n)
{
    int r = tbb_command(c, TBB_CLEAN_ALL_BUFFERS);

    (void)n;
    return r == TBB_OK || r == TBB_NO_EFFECT ? ALLOC_DONE : -EINVAL;
}

const struct alloc_kind alloc_tbb = {
    .name = "TBB",
    .symbols = {"scalable_allocation_command", "scalable_malloc", "scalable_free"}, /* none tells its version */
    .siblings = 2,
    .touched = tbb_touched,
    .flush = tbb_flush,
    .step = tbb_step,
};
