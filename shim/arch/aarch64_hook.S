/* The frame out of which every hooked function is called. A trampoline comes here with its struct hook in x16 and no other
 * register changed but x17, which no caller expects to live through a call (a linker may put a jump that uses both into any).
 * A static function may be called by a compiler that knows which registers it leaves alone, and so all of them but the results
 * are as they were also behind the call. No vector register is touched unless something fires.
 *
 * One frame for all hooks, so that its unwind table stands in this library's own .eh_frame and is found by every unwinder as
 * any other is. The layout is struct hook_frame's of arch/frame.h. The return address is not signed: the callee signs its own,
 * which is the stub's. */

#define FRAME 160
#define HOOK_STACK 12 /* in struct hook */
#define LAND_CALL hint 34 /* bti c: a nop where there is none */

    .macro PUT_GENERAL
    stp x0, x1, [x29, #-144]
    stp x2, x3, [x29, #-128]
    stp x4, x5, [x29, #-112]
    stp x6, x7, [x29, #-96]
    stp x8, x9, [x29, #-80]
    stp x10, x11, [x29, #-64]
    stp x12, x13, [x29, #-48]
    stp x14, x15, [x29, #-32]
    str x18, [x29, #-152]
    .endm

    .macro GET_GENERAL
    ldp x0, x1, [x29, #-144]
    ldp x2, x3, [x29, #-128]
    ldp x4, x5, [x29, #-112]
    ldp x6, x7, [x29, #-96]
    ldp x8, x9, [x29, #-80]
    ldp x10, x11, [x29, #-64]
    ldp x12, x13, [x29, #-48]
    ldp x14, x15, [x29, #-32]
    ldr x18, [x29, #-152]
    .endm

    .section .text.hook_stub, "ax", @progbits
    .globl hook_stub
    .hidden hook_stub
    .type hook_stub, @function
    .p2align 6
hook_stub:
    .cfi_startproc
    .cfi_personality 0x1b, hook_personality
    LAND_CALL
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa x29, 16
    sub sp, sp, #FRAME
    PUT_GENERAL
    str x16, [x29, #-8]
    mov x0, sp
    bl hook_enter
    cbnz w0, 4f
1:  ldr x16, [x29, #-8]
    ldr w16, [x16, #HOOK_STACK]
    sub sp, sp, x16
    ldr w17, [x29, #-12]
    add x9, x29, #16
    mov x10, sp
    subs w17, w17, #64
    b.lo 7f
6:  ldp x0, x1, [x9], #16 /* the caller's stack arguments */
    ldp x2, x3, [x9], #16
    ldp x4, x5, [x9], #16
    ldp x6, x7, [x9], #16
    stp x0, x1, [x10], #16
    stp x2, x3, [x10], #16
    stp x4, x5, [x10], #16
    stp x6, x7, [x10], #16
    subs w17, w17, #64
    b.hs 6b
7:  adds w17, w17, #48
    b.mi 9f
8:  ldp x0, x1, [x9], #16
    stp x0, x1, [x10], #16
    subs w17, w17, #16
    b.pl 8b
9:  GET_GENERAL
    ldr x16, [x29, #-FRAME]
    blr x16
    ldr w16, [x29, #-16]
    cbz w16, 3f
    PUT_GENERAL
    sub sp, x29, #FRAME
    mov x0, sp
    bl hook_exit
    cbnz w0, 5f
2:  GET_GENERAL
3:  mov sp, x29
    .cfi_remember_state
    .cfi_def_cfa_register sp
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_restore_state
4:  bl hook_fire_kept
    b 1b
5:  bl hook_fire_kept
    b 2b
    .cfi_endproc
    .size hook_stub, . - hook_stub

/* hook_fire(w0) with every vector register put aside: arguments or results may be in any of them. */
    .section .text.hook_fire_kept, "ax", @progbits
    .hidden hook_fire_kept
    .type hook_fire_kept, @function
hook_fire_kept:
    .cfi_startproc
    mov w1, w0
    adrp x0, hook_fire
    add x0, x0, :lo12:hook_fire
    b hook_kept
    .cfi_endproc
    .size hook_fire_kept, . - hook_fire_kept

/* hook_readable(x0, w1): of SVE's registers the kernel keeps through a system call what they share with the old ones, no more,
 * and a compiler that knows the whole of a static function keeps values in them over its call. */
    .section .text.hook_probe, "ax", @progbits
    .globl hook_probe
    .hidden hook_probe
    .type hook_probe, @function
hook_probe:
    .cfi_startproc
    LAND_CALL
    adrp x9, hook_vectors
    ldr w9, [x9, :lo12:hook_vectors]
    cbz w9, hook_readable_far
    mov w2, w1
    mov x1, x0
    adrp x0, hook_readable
    add x0, x0, :lo12:hook_readable
    b hook_kept
hook_readable_far: /* a conditional branch does not reach everywhere */
    b hook_readable
    .cfi_endproc
    .size hook_probe, . - hook_probe

/* z and p registers as the vector length is now; x0 to x2 are left alone. 35 lengths: 32 of z, and 17 p of an eighth each below. */
    .macro EACH_Z op
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    \op z\n, [sp, #(3 + \n), mul vl]
    .endr
    .endm
    .macro EACH_P op
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    \op p\n, [sp, #\n, mul vl]
    .endr
    .endm
    .macro EACH_Q op
    \op q0, q1, [sp, #0]
    \op q2, q3, [sp, #32]
    \op q4, q5, [sp, #64]
    \op q6, q7, [sp, #96]
    \op q8, q9, [sp, #128]
    \op q10, q11, [sp, #160]
    \op q12, q13, [sp, #192]
    \op q14, q15, [sp, #224]
    \op q16, q17, [sp, #256]
    \op q18, q19, [sp, #288]
    \op q20, q21, [sp, #320]
    \op q22, q23, [sp, #352]
    \op q24, q25, [sp, #384]
    \op q26, q27, [sp, #416]
    \op q28, q29, [sp, #448]
    \op q30, q31, [sp, #480]
    .endm

/* x0(x1, x2), and back with its result and every vector register as it was. In streaming mode (SME) it is left for the call,
 * which then has no z register. ZA is not saved: no plain call or system call changes it. */
    .section .text.hook_kept, "ax", @progbits
    .hidden hook_kept
    .type hook_kept, @function
    .arch_extension sve
hook_kept:
    .cfi_startproc
    stp x29, x30, [sp, #-48]!
    .cfi_def_cfa_offset 48
    .cfi_offset x29, -48
    .cfi_offset x30, -40
    mov x29, sp
    .cfi_def_cfa_register x29
    stp x19, x20, [sp, #16]
    str x21, [sp, #32]
    .cfi_offset x19, -32
    .cfi_offset x20, -24
    .cfi_offset x21, -16
    mrs x20, fpcr
    mrs x21, fpsr
    adrp x9, hook_vectors
    ldr w9, [x9, :lo12:hook_vectors]
    and w19, w9, #1 /* bit 0: SVE, bit 1: streaming */
    tbz w9, #1, 1f
    mrs x10, S3_3_C4_C2_2 /* svcr */
    bfi w19, w10, #1, #1
1:  cbz w19, 5f
    addvl sp, sp, #-32
    addvl sp, sp, #-3
    EACH_Z str
    EACH_P str
    tbz w19, #1, 2f
    .inst 0xd503427f /* smstop sm */
    b 3f
2:  rdffr p0.b
    str p0, [sp, #16, mul vl]
3:  bl hook_kept_call
    tbz w19, #1, 4f
    .inst 0xd503437f /* smstart sm */
    EACH_P ldr
    EACH_Z ldr
    b 6f
4:  ldr p0, [sp, #16, mul vl]
    wrffr p0.b
    EACH_P ldr
    EACH_Z ldr
    b 6f
5:  sub sp, sp, #512
    EACH_Q stp
    bl hook_kept_call
    EACH_Q ldp
6:  msr fpcr, x20
    msr fpsr, x21
    mov sp, x29
    ldr x21, [sp, #32]
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #48
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    .cfi_restore x19
    .cfi_restore x20
    .cfi_restore x21
    ret
    .cfi_endproc
    .size hook_kept, . - hook_kept

    .section .text.hook_kept_call, "ax", @progbits
    .type hook_kept_call, @function
hook_kept_call:
    .cfi_startproc
    mov x16, x0
    mov x0, x1
    mov x1, x2
    br x16
    .cfi_endproc
    .size hook_kept_call, . - hook_kept_call

#if defined __ARM_FEATURE_BTI_DEFAULT
    .section .note.gnu.property, "a", @note
    .p2align 3
    .word 4, 16, 5, 0x00554e47 /* NT_GNU_PROPERTY_TYPE_0 of "GNU" */
    .word 0xc0000000, 4, 1, 0  /* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
#endif
    .section .note.GNU-stack, "", @progbits
