/* A plugin whose hooked function is called by its own constructor already, and which looks a name up behind itself. */
#include <dlfcn.h>
#include <unistd.h>

long plug_work(long a, long b);
long plug_constructed(void);
static long constructed;

__attribute__((noipa)) long plug_work(long a, long b)
{
    return a * 10 + b;
}

__attribute__((constructor)) static void begin(void)
{
    constructed = plug_work(1, 2);
}

__attribute__((noipa)) long plug_constructed(void)
{
    pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "getpid");
    return next && next() == getpid() ? constructed : -1;
}
