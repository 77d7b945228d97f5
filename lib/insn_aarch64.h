/* insn_aarch64: as much of aarch64's instructions as it takes to move the begin of a function elsewhere: which ones depend on
 * their own address, or on what stands beside them, and where they go.
 *
 * Pure: bytes in, bytes out, no malloc, no globals that change. It rather says "unknown" than guess. */
#ifndef GIVEBACK_INSN_AARCH64_H
#define GIVEBACK_INSN_AARCH64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    A64_INSN = 4,
    A64_FAR = 12,       /* adrp, add, br: a jump that reaches 4 GiB */
    A64_HEAD_MAX = 16,  /* a landing pad and that */
    A64_MOVED_MAX = 96, /* bytes of a moved begin, with the addresses that it needs */
    A64_BRANCH = 1 << 27 /* how far, less than this, one branch reaches */
};

enum a64_kind {
    A64_PLAIN,
    A64_ADR,      /* adr, adrp */
    A64_LOAD,     /* ldr, ldrsw, prfm of a literal */
    A64_GOES,     /* b */
    A64_MAY_GO,   /* b.cond, bc.cond, cbz, cbnz, tbz, tbnz */
    A64_NEAR,     /* cb<cond>: nothing that is older than 2025 has one */
    A64_CALLS,    /* bl */
    A64_CALLS_BY, /* blr and its kin */
    A64_ENDS,     /* ret, br and their kin: what follows is not reached from here */
    A64_TRAPS,    /* brk: a debugger's; hlt, udf */
    A64_LANDS,    /* bti: where an indirect branch may go */
    A64_SIGNS,    /* paciasp, pacibsp: lands too, and signs the return address with the stack pointer */
    A64_UNKNOWN   /* not known, or bound to its place: it counts from its address without saying so, or belongs to the one behind it */
};

struct a64 {
    enum a64_kind kind;
    int64_t distance; /* what ADR, LOAD and the branches refer to, from the instruction (adrp: from its page) */
};

/* Any four bytes are one instruction. */
struct a64 a64_read(uint32_t word);
/* Does the one at `code`, which runs at `address`, branch or call by a distance, and where to? */
bool a64_goes(const unsigned char *code, uint64_t address, uint64_t *target);

/* A function's begin on its way to another place. */
struct a64_move {
    const unsigned char *code; /* the function's bytes */
    size_t size;
    uint64_t from; /* where they are */
    uint64_t slot; /* where the function's begin is to jump to, */
    uint64_t to;   /* and where the copy of what stood there is to run: both within 2 GiB, a branch apart or not */
    bool guarded;  /* indirect branches may go to landing pads only (BTI); there the way back from afar is a `ret` */
    unsigned char made[A64_MOVED_MAX]; /* the copy, with a way back behind it */
    unsigned char head[A64_HEAD_MAX];  /* what is to stand at `from`, */
    size_t n_head;                     /* this long: the function's bytes up to there are overwritten */
    uint64_t patched;                  /* the first of them that is not as it was */
};
/* NULL, or why it cannot be moved, as the end of a sentence. */
const char *a64_move(struct a64_move *m);
/* Does one branch reach, from any place to any within `n` bytes of the other? */
bool a64_is_near(uint64_t from, uint64_t to, uint64_t n);
/* Does the function itself go to where m->head is written? A call of the whole function is none. NULL, or why it is not to be
 * hooked. */
const char *a64_check_body(const struct a64_move *m);
/* Both. */
const char *a64_detour(struct a64_move *m);
/* Does a copy (A64_MOVED_MAX bytes at `made`, which run at `at`) go behind `from`, before `end`? */
bool a64_enters(const unsigned char *made, uint64_t at, uint64_t from, uint64_t end);
/* b to `to`, from `from`, which it must reach. */
uint32_t a64_branch(uint64_t from, uint64_t to);

#endif
