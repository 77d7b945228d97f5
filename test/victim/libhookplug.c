/* A plugin whose hooked function is called by its own constructor already, and which looks a name up behind itself. On aarch64 it
 * also has a function whose third instruction another one enters: a short jump leaves it as it is, a long one does not. */
#include <dlfcn.h>
#include <unistd.h>

long plug_work(long a, long b);
long plug_constructed(void);
static long constructed;

__attribute__((noipa)) long plug_work(long a, long b)
{
    return a * 10 + b;
}

#if defined __aarch64__
#define FUNCTION(name, body) \
    __asm__(".text\n.globl " name "\n.type " name ", %function\n" name ":\nhint 34\n" body "\n.size " name ", . - " name)
FUNCTION("plug_entered", "add x0, x0, 1\nplug_inner: add x0, x0, 2\nadd x0, x0, 3\nret");
FUNCTION("plug_enters", "add x0, x0, 4\nb plug_inner");
long plug_entered(long), plug_enters(long);
#else
static long plug_entered(long n) { return n; }
static long plug_enters(long n) { return n; }
#endif

__attribute__((constructor)) static void begin(void)
{
    constructed = plug_work(1, 2) + plug_entered(0) + plug_enters(0);
}

__attribute__((noipa)) long plug_constructed(void)
{
    pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "getpid");
    return next && next() == getpid() ? constructed : -1;
}
