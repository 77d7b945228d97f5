/* insn_x86_64: as much of x86-64's instructions as it takes to move the begin of a function elsewhere: how long each one is,
 * where it goes, and what in it depends on its own address.
 *
 * Pure: bytes in, bytes out, no malloc, no globals that change. It rather says "unknown" than guess: what processors
 * disagree about, encodings that need newer tables (APX, XOP) and useless prefixes are refused. */
#ifndef GIVEBACK_INSN_X86_64_H
#define GIVEBACK_INSN_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INSN_MAX = 15, INSN_ENDBR64 = 4, INSN_JUMP = 5 /* jmp rel32 */, INSN_MOVED_MAX = 64 /* bytes of a moved begin */ };
#define INSN_REACH INT64_C(0x7fff0000) /* from where a moved begin stands to either end of its object, to any part of which it may refer */

enum insn_kind {
    INSN_PLAIN,
    INSN_GOES,   /* jmp rel8, rel32 */
    INSN_MAY_GO, /* jcc rel8, rel32 */
    INSN_NEAR,   /* loop, jrcxz, xbegin: a relative target, and no way to widen it (or no reason to) */
    INSN_CALLS,  /* call rel32 */
    INSN_CALLS_BY, /* call through a register or memory */
    INSN_ENDS,   /* ret, jmp through a register or memory, ud2, hlt: what follows is not reached from here */
    INSN_TRAPS   /* int3: a debugger's, or padding */
};

struct insn {
    enum insn_kind kind;
    unsigned length;
    unsigned rip_at;    /* where in it a displacement stands that counts from its own end (4 bytes); 0: none */
    unsigned target_at; /* where a relative target stands; 0: none */
    unsigned target_size; /* 1 or 4 */
};

/* The instruction at `code`, of which n bytes may be read. 0; -EILSEQ: not known; -ENODATA: it does not end in them. */
int insn_read(struct insn *i, const unsigned char *code, size_t n);
/* Where it goes, when it stands at `address`. Only where target_at is set. */
uint64_t insn_target(const struct insn *i, const unsigned char *code, uint64_t address);
bool insn_is_endbr64(const unsigned char *code, size_t n);

/* A function's begin on its way to another place. */
struct insn_move {
    const unsigned char *code; /* the function's bytes from the one on that is overwritten first */
    size_t size;               /* how many belong to it */
    uint64_t from, to;         /* where they are, where the copy is to run */
    unsigned char made[INSN_MOVED_MAX]; /* the copy, with a jump back behind it, */
    size_t n_made;                      /* this long */
    size_t taken;                       /* bytes of the original that it stands for, at least INSN_JUMP */
};
/* NULL, or why it cannot be moved, as the end of a sentence. */
const char *insn_move(struct insn_move *m);
/* Does the function itself (the whole of it: `size` bytes at `code`, which run at `from`) go to where bytes are
 * overwritten, from `patched` up to `end`? A call of the whole function (`from`, `patched`) is none. NULL, or why it is not
 * to be hooked. */
const char *insn_check_body(const unsigned char *code, size_t size, uint64_t from, uint64_t patched, uint64_t end);
/* Both for the function of `size` bytes at `code`, which run at `at`, when its begin behind an endbr64 is moved to `to`. *m need
 * not be set. */
const char *insn_detour(struct insn_move *m, const unsigned char *code, size_t size, uint64_t at, uint64_t to);

#endif
