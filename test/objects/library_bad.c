/* A library in which everything is wrong that a linker lets through; scripts/check-objects --self-test must find it.
 * expect: helper is exported and not listed
 * expect: sigaction is listed and not exported
 * expect: close_range: (2, 34)
 * expect: DT_NEEDED libm.so.6
 * expect: arc4random@GLIBC_2.36
 * expect: DT_TEXTREL
 * expect: neither DF_BIND_NOW nor DF_1_NOW
 * expect: no DF_1_NODELETE
 * expect: PT_GNU_STACK
 * expect: no PT_GNU_RELRO
 * expect: no segment is writable and executable: flags
 * expect: 4096 bytes
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

__thread char storage[4096];
uint32_t helper(void);

uint32_t helper(void)
{
    return arc4random() + (uint32_t)storage[0];
}

int close_range(unsigned first, unsigned last, int flags)
{
    return (int)(first + last) + flags;
}

/* A pointer in a read-only section: the loader must write into it. */
__asm__(".text\n\t.balign 8\n\t.quad helper\n\t"
        ".section .both,\"awx\"\n\t.balign 8\n\t.quad 0\n\t.text");
