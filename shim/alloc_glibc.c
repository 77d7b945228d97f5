/* glibc: malloc_trim walks every arena, returns whole free pages in its middle too (since 2.8), and holds that arena's lock
 * meanwhile: 211 ms for 4 GiB of 64 KiB chunks, 0.5 ms when nothing is left. What it returns is 1 whenever a whole free
 * page exists, returned or not, so that is never looked at. */
#include "alloc.h"

#include "text.h"

enum { GLIBC_TRIM, GLIBC_VERSION, GLIBC_MALLINFO2, GLIBC_MALLINFO };

/* As mallinfo2 (glibc 2.33) and mallinfo return them; named here so that an old header will do. */
struct glibc_info2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct glibc_info {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

/* In use although another allocator serves malloc (a wrapper in front, an object that was bound to libc alone)? Both
 * calls lock every arena for a walk over its free lists; where the answer is no there is next to nothing to walk. */
static bool glibc_used(const struct alloc_copy *c)
{
    if (c->at[GLIBC_MALLINFO2]) {
        struct glibc_info2 i = ((struct glibc_info2(*)(void))c->at[GLIBC_MALLINFO2])();
        return i.arena || i.hblkhd;
    }
    if (c->at[GLIBC_MALLINFO]) {
        struct glibc_info i = ((struct glibc_info(*)(void))c->at[GLIBC_MALLINFO])();
        return i.arena || i.hblkhd; /* may have wrapped, hardly to 0 */
    }
    return true;
}

static void glibc_version(const struct alloc_copy *c, char *text, size_t size)
{
    struct text t;

    text_init(&t, text, size);
    text_str(&t, ((const char *(*)(void))c->at[GLIBC_VERSION])());
}

/* `held` stays what it was when a trim has returned the pages: glibc keeps no account of that. */
static void glibc_figures(const struct alloc_copy *c, struct alloc_figures *f)
{
    if (!c->at[GLIBC_MALLINFO2])
        return; /* mallinfo's figures are int and wrap at 2 GiB */
    struct glibc_info2 i = ((struct glibc_info2(*)(void))c->at[GLIBC_MALLINFO2])();
    f->live = (int64_t)(i.uordblks + i.hblkhd);
    f->held = (int64_t)i.fordblks;
}

static int glibc_step(struct alloc_copy *c, unsigned n)
{
    (void)n;
    ((int (*)(size_t))c->at[GLIBC_TRIM])(0);
    return ALLOC_DONE;
}

const struct alloc_kind alloc_glibc = {
    .name = "glibc",
    .symbols = {"malloc_trim", "gnu_get_libc_version", "mallinfo2", "mallinfo"},
    .used = glibc_used,
    .version = glibc_version,
    .figures = glibc_figures,
    .dear = true,
    .step = glibc_step,
};
