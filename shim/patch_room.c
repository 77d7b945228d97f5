#include "patch_room.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "sys.h"

enum {
    PATCH_REGION = 64 * 1024, /* what is mapped at once: as large as the largest page */
    PATCH_REGIONS = 256,
    PATCH_STEP = 1 << 20 /* between two places that are tried */
};

static struct {
    uintptr_t at;
    size_t used;
} patch_region[PATCH_REGIONS];
static size_t patch_regions;

int patch_room_open(void)
{
    return (int)sys4(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
}

bool patch_room_write(int fd, uintptr_t at, const void *bytes, size_t n)
{
    return sys4(SYS_pwrite64, fd, bytes, n, at) == (long)n && memcmp((const void *)at, bytes, n) == 0;
}

/* Any part of the region that is to begin there. */
static bool patch_region_is_near(uintptr_t region, const struct patch_place *p)
{
    int64_t down = (int64_t)(region - p->to), up = (int64_t)(region + PATCH_REGION - p->from);

    return down > -p->reach && up < p->reach;
}

bool patch_room_is_near(uintptr_t slot, const struct patch_place *p)
{
    return patch_region_is_near(slot & ~(uintptr_t)(PATCH_REGION - 1), p);
}

/* A place within reach that is free. Below the object first: above a program its heap begins, which is to grow on. */
static uintptr_t patch_map(const struct patch_place *p)
{
    uintptr_t down = (p->low & ~(uintptr_t)(PATCH_STEP - 1)) - PATCH_STEP;
    uintptr_t up = (p->high & ~(uintptr_t)(PATCH_STEP - 1)) + (((uintptr_t)p->reach / 2 + PATCH_STEP) & ~(uintptr_t)(PATCH_STEP - 1));

    for (unsigned turn = 0; turn < 2; turn++)
        for (uintptr_t at = turn ? up : down; at > PATCH_STEP && patch_region_is_near(at, p); at += turn ? PATCH_STEP : -(uintptr_t)PATCH_STEP) {
            long got = sys6(SYS_mmap, (long)at, PATCH_REGION, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (got == (long)at)
                return at;
            if (got > 0) /* a kernel before 4.17 takes the address for a wish */
                sys2(SYS_munmap, got, PATCH_REGION);
        }
    return 0;
}

uintptr_t patch_room_take(const struct patch_place *p)
{
    for (size_t i = 0; i < patch_regions; i++)
        if (patch_region[i].used < PATCH_REGION && patch_region_is_near(patch_region[i].at, p)) {
            patch_region[i].used += PATCH_SLOT;
            return patch_region[i].at + patch_region[i].used - PATCH_SLOT;
        }
    uintptr_t at = patch_regions < PATCH_REGIONS ? patch_map(p) : 0;
    if (at) {
        patch_region[patch_regions].at = at;
        patch_region[patch_regions++].used = PATCH_SLOT;
    }
    return at;
}
