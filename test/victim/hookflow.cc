/* hookflow WAY [N]: a function flow_* is left N times in a way that is no return, and what can be seen of it is printed. */
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static int n = 10000;
static long sum;
static jmp_buf back;
static ucontext_t first, second;
static const size_t stack_size = 65536;

struct counted {
    ~counted() { sum += 3; }
};

#define HOOKED extern "C" __attribute__((noipa))

HOOKED int flow_throw(int i)
{
    counted c;
    if (i % 2)
        throw std::runtime_error(i % 3 ? "third" : "other");
    return i;
}
HOOKED int flow_nested(int i) { return i > 20 ? flow_throw(i | 1) : flow_nested(i + 1) + 1; }
HOOKED void flow_longjmp(int i)
{
    sum += i;
    longjmp(back, 1);
}
HOOKED void flow_exit(void *p)
{
    counted c;
    sum += n; /* before it calls anything: a call in its first bytes cannot be moved */
    pthread_exit(p);
}
HOOKED void flow_wait()
{
    counted c;
    sum += n;
    for (;;)
        pause();
}
HOOKED void flow_switch(ucontext_t *from, ucontext_t *to) { swapcontext(from, to); }
HOOKED void flow_coroutine(long a, long b)
{
    for (;;) {
        sum += a + b;
        flow_switch(&second, &first);
    }
}
HOOKED int flow_backtrace()
{
    void *frames[64];
    return backtrace(frames, 64) > 3;
}

static void *leaves(void *p)
{
    flow_exit(p);
    return nullptr;
}
static void *waits(void *)
{
    flow_wait();
    return nullptr;
}

static void throws(int (*f)(int))
{
    for (int i = 0; i < n; i++) {
        try {
            sum += f(i);
        } catch (const std::exception &e) {
            sum += e.what()[0];
        }
    }
}

static void threads(void *(*f)(void *), bool cancel)
{
    for (int i = 0; i < n; i++) {
        pthread_t t;
        void *result;
        pthread_create(&t, nullptr, f, &sum);
        if (cancel)
            pthread_cancel(t);
        pthread_join(t, &result);
        sum += result == (cancel ? PTHREAD_CANCELED : static_cast<void *>(&sum));
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    n = argc > 2 ? atoi(argv[2]) : n;
    if (!strcmp(way, "throw"))
        throws(flow_throw);
    else if (!strcmp(way, "nested"))
        throws(flow_nested);
    else if (!strcmp(way, "longjmp"))
        for (volatile int i = 0; i < n; i++) {
            if (!setjmp(back))
                flow_longjmp(i);
        }
    else if (!strcmp(way, "exit"))
        threads(leaves, false);
    else if (!strcmp(way, "cancel"))
        threads(waits, true);
    else if (!strcmp(way, "backtrace"))
        sum += flow_backtrace();
    else if (!strcmp(way, "coroutine")) {
        /* 4 GiB away, since what lies near below the other stack counts as a part of it; qemu-user has put a static one there */
        void *stack = mmap(reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(&argc) - (uintptr_t{1} << 32)), stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED)
            return 1;
        getcontext(&second);
        second.uc_stack.ss_sp = stack;
        second.uc_stack.ss_size = stack_size;
        makecontext(&second, reinterpret_cast<void (*)()>(flow_coroutine), 2, 3L, 4L);
        for (int i = 0; i < n; i++)
            flow_switch(&first, &second);
    }
    printf("%s %ld\n", way, sum);
    return 0;
}
