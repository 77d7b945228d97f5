/* giveback.h: for a program that wants to cooperate with libgiveback. See libgiveback(3).
 *
 * There is nothing to link: the functions are the library's where it is loaded (LD_PRELOAD), and where it is not each of them
 * does nothing and returns what is said below. The same program runs with it and without it, and with GIVEBACK=0.
 *
 * Any thread may call them, several at once, also in a function that is itself an event of GIVEBACK_ON. giveback_release,
 * giveback_mark and giveback_anon may start the library's thread and wait for it: they must not be called in a signal handler,
 * between fork and exec, or while a lock is held that an allocator needs. None of them changes errno, none throws, none is a
 * cancellation point.
 *
 * A label names the record: text in UTF-8 that is copied before the function returns, of which the first 63 bytes count; NULL or
 * "": none. */
#ifndef GIVEBACK_H
#define GIVEBACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's own. Weak, so that they may be missing; by way of the GOT, since a program that is not position-independent would
 * otherwise be told at link time already that they are. */
#define GIVEBACK_WEAK(name) __asm__("giveback_" name) __attribute__((weak, noplt))
extern int giveback_weak_release(const char *label) GIVEBACK_WEAK("release");
extern int giveback_weak_mark(const char *label) GIVEBACK_WEAK("mark");
extern int64_t giveback_weak_anon(void) GIVEBACK_WEAK("anon");
extern int giveback_weak_last(char *buffer, size_t size) GIVEBACK_WEAK("last");
#undef GIVEBACK_WEAK

/* Under names of their own, so that a debug build, which does not inline them, does not call itself. */
#define GIVEBACK_INLINE(type, name, arguments) \
    static inline type giveback_##name arguments __asm__("giveback_inline_" #name); \
    static inline __attribute__((unused)) type giveback_##name arguments

/* Gives back now what the allocators of the process hold, the caller's own caches too, and returns when that is done. How many
 * allocators were asked and did not fail, whether or not they had anything to give: the record says how much came back. 0: no
 * library, or nothing was done, or another thread's release ran for more than 2 s, after which one more follows. */
GIVEBACK_INLINE(int, release, (const char *label))
{
    return giveback_weak_release ? giveback_weak_release(label) : 0;
}

/* Records the memory of the process, and releases nothing. 1: it was recorded; 0: no library, or it was not. */
GIVEBACK_INLINE(int, mark, (const char *label))
{
    return giveback_weak_mark ? giveback_weak_mark(label) : 0;
}

/* RssAnon of the process in bytes, as /proc/self/status has it, and without a descriptor of the process; a release that is
 * running is waited for. -1: no library, or unreadable. */
GIVEBACK_INLINE(int64_t, anon, (void))
{
    return giveback_weak_anon ? giveback_weak_anon() : -1;
}

/* The record of the last action in this process, of whatever event, as one JSON object without a line end, at most 4096 bytes. As
 * snprintf: at most size - 1 bytes and a NUL are written, nothing when size is 0, and the length of the whole is returned. 0:
 * no library, or there was none yet. The only one that may be called in a signal handler, and never waits. */
GIVEBACK_INLINE(int, last, (char *buffer, size_t size))
{
    if (giveback_weak_last)
        return giveback_weak_last(buffer, size);
    if (size)
        *buffer = '\0';
    return 0;
}

#undef GIVEBACK_INLINE

#ifdef __cplusplus
}
#endif

#endif
