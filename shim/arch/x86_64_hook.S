/* The frame out of which every hooked function is called. A trampoline pushes its struct hook and jumps here, so that no
 * register has changed: a static function may be called by a compiler that knows which registers it leaves alone, and so
 * all of them but the results are as they were also behind the call. No vector register is touched unless something fires.
 *
 * One frame for all hooks, so that its unwind table stands in this library's own .eh_frame and is found by every unwinder as
 * any other is. The layout is struct hook_frame's of arch/frame.h. */

#define FRAME 96
#define HOOK_STACK 12 /* in struct hook */
#define XSAVE_MOST 2752 /* up to AVX-512, in the standard form: 2688; and the alignment */
/* x87, SSE, AVX, AVX-512. Not AMX: nothing that is called for an event uses it, and it is 8 KiB on a small stack. */
#define XSAVE_WHAT 0xe7

/* 16 bytes of the caller's stack arguments, rcx from the first one on. */
    .macro COPY at
    mov 16+\at(%rbp,%rcx), %rax
    mov 16+\at+8(%rbp,%rcx), %rdx
    mov %rax, \at(%rsp,%rcx)
    mov %rdx, \at+8(%rsp,%rcx)
    .endm

    .section .text.hook_stub, "ax", @progbits
    .globl hook_stub
    .hidden hook_stub
    .type hook_stub, @function
    .p2align 6
hook_stub:
    .cfi_startproc
    .cfi_personality 0x1b, hook_personality
    .cfi_def_cfa_offset 16
    endbr64
    push %rax
    .cfi_adjust_cfa_offset 8
    mov 8(%rsp), %rax
    mov %rbp, 8(%rsp)
    .cfi_offset %rbp, -16
    lea 8(%rsp), %rbp
    .cfi_def_cfa %rbp, 16
    push %rax
    sub $8, %rsp
    push %rcx
    push %rdx
    push %rsi
    push %rdi
    push %r8
    push %r9
    push %r10
    push %r11
    sub $8, %rsp
    mov %rsp, %rdi
    call hook_enter
    test %eax, %eax
    jnz 4f
1:  mov -16(%rbp), %rax
    mov HOOK_STACK(%rax), %eax
    sub %rax, %rsp
    mov -20(%rbp), %ecx
    sub $64, %ecx
    jb 7f
6:  COPY 48 /* by words, the last ones first: `rep movs` takes 10 ns to begin */
    COPY 32
    COPY 16
    COPY 0
    sub $64, %ecx
    jae 6b
7:  add $48, %ecx
    js 9f
8:  COPY 0
    sub $16, %ecx
    jns 8b
9:
    mov -8(%rbp), %rax
    mov -32(%rbp), %rcx
    mov -40(%rbp), %rdx
    mov -48(%rbp), %rsi
    mov -56(%rbp), %rdi
    mov -64(%rbp), %r8
    mov -72(%rbp), %r9
    mov -80(%rbp), %r10
    mov -88(%rbp), %r11
    call *-96(%rbp)
    cmpl $0, -24(%rbp)
    je 3f
    mov %rax, -8(%rbp)
    mov %rcx, -32(%rbp)
    mov %rdx, -40(%rbp)
    mov %rsi, -48(%rbp)
    mov %rdi, -56(%rbp)
    mov %r8, -64(%rbp)
    mov %r9, -72(%rbp)
    mov %r10, -80(%rbp)
    mov %r11, -88(%rbp)
    lea -FRAME(%rbp), %rsp
    mov %rsp, %rdi
    call hook_exit
    test %eax, %eax
    jnz 5f
2:  mov -8(%rbp), %rax
    mov -32(%rbp), %rcx
    mov -40(%rbp), %rdx
    mov -48(%rbp), %rsi
    mov -56(%rbp), %rdi
    mov -64(%rbp), %r8
    mov -72(%rbp), %r9
    mov -80(%rbp), %r10
    mov -88(%rbp), %r11
3:  leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_restore_state
4:  mov %eax, %edi
    call hook_fire_saved
    jmp 1b
5:  mov %eax, %edi
    call hook_fire_saved
    jmp 2b
    .cfi_endproc
    .size hook_stub, . - hook_stub

/* hook_fire(edi) with the whole vector and x87 state put aside: arguments or results may be in any of it. */
    .section .text.hook_fire_saved, "ax", @progbits
    .hidden hook_fire_saved
    .type hook_fire_saved, @function
hook_fire_saved:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rbx
    .cfi_offset %rbx, -24
    sub $XSAVE_MOST, %rsp
    and $-64, %rsp
    mov hook_has_xsave(%rip), %ebx
    test %ebx, %ebx
    jz 1f
    xor %eax, %eax
    mov %rax, 512(%rsp) /* of the header xsave writes the first word only, and xrstor wants zeros in the others */
    mov %rax, 520(%rsp)
    mov %rax, 528(%rsp)
    mov %rax, 536(%rsp)
    mov %rax, 544(%rsp)
    mov %rax, 552(%rsp)
    mov %rax, 560(%rsp)
    mov %rax, 568(%rsp)
    mov $XSAVE_WHAT, %eax
    xor %edx, %edx
    xsave64 (%rsp)
    jmp 2f
1:  fxsave64 (%rsp)
2:  fninit /* a result may lie on the x87 stack, which a call expects to be empty */
    call hook_fire
    test %ebx, %ebx
    jz 3f
    mov $XSAVE_WHAT, %eax
    xor %edx, %edx
    xrstor64 (%rsp)
    jmp 4f
3:  fxrstor64 (%rsp)
4:  mov -8(%rbp), %rbx
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size hook_fire_saved, . - hook_fire_saved

    .section .note.GNU-stack, "", @progbits
