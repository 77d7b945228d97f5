/* Functions of four instructions each, one for every kind that is relocated and every size and shape of it; compilers make few. What
 * they refer to lies before them and behind them. */
    .arch armv8.5-a

    .macro begin insns:vararg
    .globl begin_\@
    .type begin_\@, @function
begin_\@:
    \insns
    add x1, x1, #1
    add x2, x2, #2
    ret
    .size begin_\@, . - begin_\@
    .endm

    .text
before:
    .fill 28000, 1, 0x5a /* nearly as far as tbz reaches */
    .irp where, before, behind
    begin adr x3, \where
    begin adr xzr, \where + 3
    begin adrp x4, \where
    begin adrp x17, \where
    begin ldr w5, \where
    begin ldr x6, \where
    begin ldr x17, \where
    begin ldr xzr, \where
    begin ldrsw x7, \where
    begin prfm pldl1keep, \where
    begin ldr s8, \where
    begin ldr d9, \where
    begin ldr q31, \where
    begin b \where
    .irp condition, eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le, al
    begin b.\condition \where
    .endr
    begin cbz w10, \where
    begin cbnz x11, \where
    begin cbz xzr, \where
    begin tbz w12, #31, \where
    begin tbnz x13, #63, \where
    begin tbz x14, #4, \where
    .endr
    begin bti c
    begin bti j
    begin paciasp
    begin pacibsp
    begin bti c; adr x3, behind
    begin paciasp; ldr q0, before
    begin paciasp; cbz x0, behind
    begin cbz x0, behind; ldr x1, behind; tbnz x2, #3, before
    begin paciasp; cbz x0, behind; ldr q1, behind; tbnz x2, #3, before
    begin stp x29, x30, [sp, #-16]!; mov x29, sp; ldr x17, behind
    begin svc #0
    begin ret
    begin br x9
behind:
    .fill 28000, 1, 0xa5
    .section .note.GNU-stack, "", @progbits
