/* object: which objects are loaded, and when that has changed.
 *
 * Everything here is for the worker, except object_start and what object_read.c has (below). ld.so's list is visited by dl_iterate_phdr, which holds ld.so's
 * lock meanwhile: so every visit is short, passes the gate, and never calls into an allocator (which may itself be
 * visiting the list under a lock of its own). Other namespaces (dlmopen) are not seen. */
#ifndef GIVEBACK_OBJECT_H
#define GIVEBACK_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elffile.h"
#include "elfsym.h"

#define OBJECT_NAME_MAX 64
#define OBJECT_PATH_MAX 1024

struct object {
    uint64_t identity;           /* differs for any other object, also for one loaded later at the same address */
    uintptr_t bias;
    char name[OBJECT_NAME_MAX];  /* base name; of the main program that of /proc/self/exe */
    char path[OBJECT_PATH_MAX];  /* as ld.so has it; of the main program /proc/self/exe */
    bool resident;               /* there when the program started, so that it is never unloaded */
    bool has_symbols;            /* `symbols` was read */
    struct elfsym symbols;       /* valid during the visit; afterwards only while the object stays loaded */
    unsigned char id[ELFFILE_ID_MAX]; /* build-id as it stands in memory */
    size_t id_size;
    const ElfW(Phdr) *segments;  /* valid during the visit */
    size_t n_segments;
};

/* Constructor: how many objects there are at program start. */
void object_start(void);
/* Forget what was seen (a forked child may have inherited a table that was being written). */
void object_reset(void);

/* Called under ld.so's lock: reads memory, calls nothing of the host's. */
typedef void (*object_visit)(const struct object *o, void *context);
/* The next object that was not seen before, 1 after its visit; *o is then a copy whose path and name may be used. 0: every
 * object was seen; -ECANCELED: the gate said no. Costs one callback when nothing was loaded or unloaded since the last
 * 0. `gone` is called for the identity of each object that was unloaded. */
int object_next(struct object *o, object_visit visit, void (*gone)(uint64_t identity), void *context);
/* The first object in the global scope that defines malloc: its identity and base name; 0: none. Valid after
 * object_next returned 0. */
uint64_t object_of_malloc(const char **name);

/* Keep an object that is not `resident` from being unloaded, for good: the allocators that we call leave state in our
 * thread whose destructor lies in the object. Loads nothing (RTLD_NOLOAD). Takes the gate. false: it is gone, or the
 * gate said no. */
bool object_pin(const char *path, uintptr_t bias);
/* The same visit again for one object that is still loaded: false when it is gone. Takes the gate. */
bool object_again(uint64_t identity, object_visit visit, void *context);

/* Is any page of the object's zero-initialised data there (beyond the page it shares with the file)? Code that never ran
 * has touched none. Call it while the object cannot go (during a visit). */
bool object_bss_touched(const struct object *o);

/* object_read.c, for whoever has dl_iterate_phdr's callback, and for the files behind the objects. No malloc. */

/* What ld.so says of an object; `position`: its place in the list. Does not know whether it is `resident`. */
void object_fill(struct object *o, const struct dl_phdr_info *i, size_t position);
/* While the object cannot go: are these the bytes that its segments have of the file at that offset? */
bool object_has(const struct object *o, uint64_t offset, const void *bytes, size_t n);
/* Likewise: do these bytes lie in a part of it that is code, and can be read? And from where to where does it reach? */
bool object_is_code(const struct object *o, uintptr_t at, size_t size);
void object_extent(const struct object *o, uintptr_t *low, uintptr_t *high);
/* object_has, or a way to it. */
typedef bool (*object_compare)(const struct object *o, uint64_t offset, const void *bytes, size_t n);
/* A file (that of an object, o->path), if it belongs to what is mapped. It may have been replaced since (an upgrade), or be another one of
 * that name (a host that has changed its root). A descriptor, which the caller closes and to which f->context is then to
 * point; or -errno. */
int object_file_open(struct elffile *f, const char *path, const struct object *o, object_compare has);
/* Where no build-id vouches for the file: is the code at this address of it what is mapped there? */
bool object_file_has(const struct elffile *f, const struct object *o, uint64_t address, object_compare has);

#endif
