/* Preloaded in front of everything: counts which threads call the allocator. spy_count(0) counts the calls of threads that
 * are not named "giveback", spy_count(1) those of the one that is. */
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
void *malloc(size_t n);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t n);
void free(void *p);
int spy_count(int of);

static int calls[2];

static void seen(void)
{
    char name[16] = "";
    (void)prctl(PR_GET_NAME, name);
    __atomic_fetch_add(&calls[strcmp(name, "giveback") == 0], 1, __ATOMIC_SEQ_CST);
}

int spy_count(int of)
{
    return __atomic_load_n(&calls[of], __ATOMIC_SEQ_CST);
}

void *malloc(size_t n)
{
    seen();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    seen();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    seen();
    return __libc_realloc(p, n);
}

void free(void *p)
{
    seen();
    __libc_free(p);
}
