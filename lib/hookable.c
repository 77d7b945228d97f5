#include "hookable.h"

#include <string.h>

#include "glob.h"
#include "insn_aarch64.h"
#include "insn_around.h"
#include "insn_x86_64.h"
#include "parse.h"

/* Never hooked, by the names as symbol tables have them, and why. */
static const struct {
    const char *names, *why;
    bool libc; /* only there */
} hookable_not[] = {
    {"malloc,calloc,realloc,free,cfree,memalign,aligned_alloc,posix_memalign,valloc,pvalloc,reallocarray,malloc_usable_size,"
     "__libc_malloc,__libc_calloc,__libc_realloc,__libc_free,__libc_memalign,__libc_valloc,__libc_pvalloc,_int_malloc,_int_free,"
     "_int_realloc,_int_memalign,_mid_memalign,sysmalloc,sysmalloc_*,systrim,malloc_consolidate,ptmalloc_*,arena_get2,arena_get_retry,"
     "tc_*,je_*,_rjem_*,mi_*,scalable_*,__TBB_malloc*,_Znw*,_Zna*,_Zdl*,_Zda*",
     "it is an allocator's entry point, where no release can be made", false},
    {"mmap,mmap64,munmap,mremap,madvise,mprotect,brk,sbrk,__brk,__sbrk,__mmap,__munmap,__madvise,__mprotect,pthread_mutex_*,"
     "__pthread_mutex_*,pthread_spin_*,sched_yield,__sched_yield,dl_iterate_phdr,pthread_getspecific,pthread_setspecific",
     "allocators call it while they hold their locks", false},
    {"setjmp,_setjmp,__setjmp,sigsetjmp,__sigsetjmp,vfork,__vfork,getcontext,swapcontext,setcontext,clone,__clone,clone3",
     "it may return twice, or not at all", false},
    {"dlopen,dlmopen,dlsym,dlvsym,_Unwind_*", "what it does depends on where it is called from", false},
    {"mcount,_mcount,__fentry__,__tls_get_addr,___tls_get_addr,__morestack,__x86_*_thunk_*,_dl_runtime_*,_dl_tlsdesc_*,_start,"
     "_init,_fini,__cyg_profile_*,__aarch64_*,__arm_*", "it is not called as other functions are", false},
    {"*.isra.*,*.constprop.*,*.part.*,*.cold,*.cold.*", "it is a part or a clone that the compiler made, which is not called as the function is", false},
    {"memchr*,__memchr*,memcmp*,__memcmp*,bcmp,memcpy*,__memcpy*,memmove*,__memmove*,mempcpy*,__mempcpy*,memset*,__memset*,memrchr*,"
     "__memrchr*,strchr*,__strchr*,index,strrchr*,__strrchr*,rindex,strcmp*,__strcmp*,strncmp*,__strncmp*,strlen*,__strlen*,strnlen*,"
     "__strnlen*,strspn*,__strspn*,strcspn*,__strcspn*,getauxval,sysconf,__errno_location,__libc_current_sigrtmin,"
     "__libc_current_sigrtmax", "this library calls it itself", true},
};

const char *hookable_name(const char *name, bool libc)
{
    for (size_t i = 0; i < sizeof hookable_not / sizeof *hookable_not; i++)
        if (libc >= hookable_not[i].libc && glob_match_list(hookable_not[i].names, name))
            return hookable_not[i].why;
    return NULL;
}

bool hookable_refused(struct hookable_walk *w, bool libc, char *name, const char **why)
{
    const char *item;
    size_t n;

    for (; w->list < sizeof hookable_not / sizeof *hookable_not; w->list++) {
        if (!w->rest)
            w->rest = hookable_not[w->list].names;
        while (libc >= hookable_not[w->list].libc && parse_item(&w->rest, &item, &n))
            if (!memchr(item, '*', n) && n < HOOKABLE_NAME_MAX) {
                memcpy(name, item, n);
                name[n] = '\0';
                *why = hookable_not[w->list].why;
                return true;
            }
        w->rest = NULL;
    }
    return false;
}

const char *hookable_object(const struct hookable_object *o)
{
    if (o->own)
        return "it is this library's own";
    if (o->vdso)
        return "it is the kernel's";
    if (o->linker)
        return "it is ld.so's own, which no release may interrupt";
    for (size_t i = 0; i < o->n_dynamic && o->dynamic[i].d_tag != DT_NULL; i++)
        if (o->dynamic[i].d_tag == DT_TEXTREL || (o->dynamic[i].d_tag == DT_FLAGS && o->dynamic[i].d_un.d_val & DF_TEXTREL))
            return "its object has text relocations";
    return NULL;
}

const char *hookable_type(unsigned type)
{
    return type == STT_FUNC || type == STT_GNU_IFUNC ? NULL : "it is data";
}

const ElfW(Phdr) *hookable_segment(const struct hookable_object *o, uint64_t value, uint64_t size)
{
    for (size_t k = 0; k < o->n_segments; k++) {
        const ElfW(Phdr) *p = &o->segments[k];
        uint64_t from = value - p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_flags & PF_R && from < p->p_filesz && size <= p->p_filesz - from)
            return p;
    }
    return NULL;
}

const char *hookable_place(const struct hookable_object *o, uint64_t value, uint64_t size)
{
    if (!size)
        return "how long it is stands in no table";
    return hookable_segment(o, value, size) ? NULL : "it does not lie in its object's code, or that cannot be read";
}

#if defined __x86_64__
const char *hookable_code(const ElfW(Phdr) *segment, const void *bytes, uint64_t value, uint64_t size, struct hookable_range *overwritten)
{
    const struct insn_text text = {.code = bytes, .size = segment->p_filesz, .at = segment->p_vaddr};
    struct insn_move m;
    const char *why = insn_detour(&m, text.code + (value - text.at), size, value, value);

    if (why)
        return why;
    if (overwritten)
        *overwritten = (struct hookable_range){m.from, m.from + m.taken, NULL};
    return insn_check_around(&text, value, size, m.from, m.from + m.taken);
}

bool hookable_enters(const void *moved, const struct hookable_range *overwritten)
{
    const unsigned char *code = moved;
    struct insn i;

    for (size_t at = 0; at < INSN_MOVED_MAX && !insn_read(&i, code + at, INSN_MOVED_MAX - at); at += i.length) {
        uint64_t target = i.target_at ? insn_target(&i, code + at, (uintptr_t)code + at) : 0;
        if (target > overwritten->from && target < overwritten->end)
            return true;
    }
    return false;
}
#else
enum { HOOKABLE_FAR = 1 << 30 };

static const char *hookable_detour(const struct insn_text *text, uint64_t value, uint64_t size, uint64_t slot, struct hookable_range *range)
{
    struct a64_move m = {.code = text->code + (value - text->at), .size = size, .from = value, .slot = slot, .to = slot};
    const char *why = a64_detour(&m);

    if (why)
        return why;
    range->from = m.patched;
    range->end = m.from + m.n_head;
    return insn_check_around_aarch64(text, value, size, range->from, range->end);
}

const char *hookable_code(const ElfW(Phdr) *segment, const void *bytes, uint64_t value, uint64_t size, struct hookable_range *overwritten)
{
    const struct insn_text text = {.code = bytes, .size = segment->p_filesz, .at = segment->p_vaddr};
    struct hookable_range near = {0}, far = {0};
    const char *why = hookable_detour(&text, value, size, value, &near);

    if (why)
        return why;
    near.not_far = hookable_detour(&text, value, size, value + HOOKABLE_FAR, &far);
    if (overwritten)
        *overwritten = near.not_far ? near : far;
    return NULL;
}

bool hookable_enters(const void *moved, const struct hookable_range *overwritten)
{
    return a64_enters(moved, (uintptr_t)moved, overwritten->from, overwritten->end);
}
#endif
