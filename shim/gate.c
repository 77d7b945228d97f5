#include "gate.h"

#include <time.h>

#include "post.h"
#include "sys.h"

#define GATE_LOOK_NS 200000L /* how often either side looks again */

bool gate_enter(void)
{
    struct post *p = post_own();

    for (;;) {
        __atomic_store_n(&p->inside, 1, __ATOMIC_SEQ_CST);
        if (!__atomic_load_n(&p->shut, __ATOMIC_SEQ_CST))
            return true;
        __atomic_store_n(&p->inside, 0, __ATOMIC_SEQ_CST);
        post_wake(&p->inside);
        if (__atomic_load_n(&p->ending, __ATOMIC_SEQ_CST) || __atomic_load_n(&p->quit, __ATOMIC_SEQ_CST))
            return false;
        int shut = __atomic_load_n(&p->shut, __ATOMIC_SEQ_CST);
        if (shut)
            post_wait(&p->shut, shut, 10 * GATE_LOOK_NS);
    }
}

void gate_leave(void)
{
    struct post *p = post_own();

    __atomic_store_n(&p->inside, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->shut, __ATOMIC_SEQ_CST))
        post_wake(&p->inside);
}

bool gate_shut(int ms)
{
    struct post *p = post_own();
    int64_t end;

    if (!p)
        return true;
    __atomic_add_fetch(&p->shut, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&p->inside, __ATOMIC_SEQ_CST))
        return true;
    for (end = sys_clock(CLOCK_MONOTONIC) + ms * INT64_C(1000000); __atomic_load_n(&p->inside, __ATOMIC_SEQ_CST);) {
        if (sys_clock(CLOCK_MONOTONIC) >= end)
            return false;
        post_wait(&p->inside, 1, GATE_LOOK_NS);
    }
    return true;
}

void gate_open(void)
{
    struct post *p = post_own();

    if (p && __atomic_sub_fetch(&p->shut, 1, __ATOMIC_SEQ_CST) == 0)
        post_wake(&p->shut);
}
