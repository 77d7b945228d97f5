/* Locks a buffer, sets process and allocator settings, and says at the end whether they still hold: glibc's mmap threshold
 * is dynamic at the default, so a block just over it is mapped, and one freed once no longer is. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static char locked[1 << 20] __attribute__((aligned(4096)));

static int is_mapped(size_t n)
{
    int before = mallinfo2().hblks > 0 ? (int)mallinfo2().hblks : 0;
    void *block = malloc(n);
    memset(block, 1, n);
    int mapped = (int)mallinfo2().hblks - before;
    free(block);
    return mapped;
}

int main(void)
{
    char c, name[16] = "";
    (void)mlock(locked, sizeof locked);
    memset(locked, 7, sizeof locked);
    printf("dumpable %d timerslack %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_TIMERSLACK));
    puts("ready");
    (void)fflush(stdout);
    (void)read(0, &c, 1);
    (void)prctl(PR_GET_NAME, name);
    printf("dumpable %d timerslack %d name %s\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_TIMERSLACK), name);
    printf("mapped %d %d %d\n", is_mapped(200 << 10), is_mapped(200 << 10), is_mapped(900 << 10));
    puts("ready");
    (void)fflush(stdout);
    (void)read(0, &c, 1);
    printf("mapped %d %d %d\n", is_mapped(200 << 10), is_mapped(900 << 10), is_mapped(40 << 20));
    return locked[12345] == 7 ? 0 : 1;
}
