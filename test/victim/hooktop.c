/* hooktop: a hooked function is the first one on a stack of 16 KiB, behind whose end nothing may be read. */
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SIZE 16384

void top_entry(int a, int b);

static ucontext_t first, second;
static int sum;

__attribute__((noipa)) void top_entry(int a, int b)
{
    sum += a * b;
}

int main(void)
{
    char *stack = mmap(NULL, SIZE + 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (stack == MAP_FAILED || mprotect(stack + 4096, SIZE, PROT_READ | PROT_WRITE) != 0)
        return 1;
    for (int i = 0; i < 1000; i++) {
        getcontext(&second);
        second.uc_stack.ss_sp = stack + 4096;
        second.uc_stack.ss_size = SIZE;
        second.uc_link = &first;
        makecontext(&second, (void (*)(void))top_entry, 2, i, 3);
        swapcontext(&first, &second);
    }
    printf("%d\n", sum);
    return 0;
}
