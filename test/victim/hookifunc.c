/* hookifunc N: calls a function that is chosen when the program is loaded (IFUNC) N times. The chosen one has no name and no size in
 * any symbol table, only an unwind table, as in a library that was stripped. */
#include <stdio.h>
#include <stdlib.h>

int chosen_later(int);
#if defined __x86_64__
__asm__(".text\n"
        ".p2align 4\n"
        ".Lchosen:\n"
        ".cfi_startproc\n"
        "lea 1(%rdi), %eax\n"
        "add $1, %eax\n"
        "ret\n"
        ".cfi_endproc\n"
        ".p2align 4\n"
        ".globl chosen_later\n"
        ".type chosen_later, @gnu_indirect_function\n"
        "chosen_later:\n"
        ".cfi_startproc\n"
        "lea .Lchosen(%rip), %rax\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size chosen_later, . - chosen_later\n");
#endif

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1, sum = 0;

    for (int i = 0; i < n; i++)
        sum += chosen_later(i);
    printf("%d\n", sum);
    return 0;
}
