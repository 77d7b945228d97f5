/* hookrefused: functions that cannot be hooked, each for its own reason, and that work as ever. */
#include <stdio.h>
#include <stdlib.h>

int refuse_data = 3;
int refuse_call(int), refuse_short(void), refuse_back(int), refuse_loop(int), refuse_trap(int), refuse_sizeless(int), refuse_unknown(int),
    refuse_part_cold(int), refuse_other_name(int), refuse_entered(int), refuse_neighbour(int);
static int plus(int n) __asm__("plus");
__attribute__((noipa, used)) static int plus(int n) { return n + 1; }
#define FUNCTION(name, body) \
    __asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n" body "\n.size " name ", . - " name "\n.fill 16, 1, 0x90\n")
#if defined __x86_64__
FUNCTION("refuse_call", "sub $8, %rsp\ncall plus\nadd $8, %rsp\nret");
FUNCTION("refuse_short", "xor %eax, %eax\nret");
FUNCTION("refuse_back", "xor %eax, %eax\n1: inc %eax\ndec %edi\njnz 1b\nret");
FUNCTION("refuse_loop", "xor %eax, %eax\njrcxz 1f\ninc %eax\n1: inc %eax\nret");
FUNCTION("refuse_trap", "jmp 1f\nint3\nint3\nint3\nint3\n1: lea 1(%rdi), %eax\nret");
FUNCTION("refuse_unknown", "mov $1, %eax\nret\n.byte 0x62, 0xf4, 0x7c, 0x18, 0x01, 0xc0");
FUNCTION("refuse_part_cold", "mov $5, %eax\nret");
__asm__(".globl refuse_sizeless\n.type refuse_sizeless, @function\nrefuse_sizeless:\nlea 4(%rdi), %eax\nret\n.fill 16, 1, 0x90");
FUNCTION("refuse_entered", "lea 7(%rdi), %eax\nrefuse_inner: add $0, %eax\nret");
FUNCTION("refuse_neighbour", "lea 8(%rdi), %eax\njmp refuse_inner");
/* libc has a function of that name, so that the linker puts it into .dynsym */
FUNCTION("valloc", "lea 6(%rdi), %eax\nnop\nnop\nret");
__asm__(".globl refuse_other_name\n.set refuse_other_name, valloc\n.type refuse_other_name, @function\n.size refuse_other_name, 6");
#elif defined __aarch64__
/* a call is the first instruction only of what finds its way back otherwise: refuse_call is entered with it in x9 */
FUNCTION("refuse_call", "bl plus\nbr x9");
__asm__(".globl called\ncalled:\nstr x30, [sp, #-16]!\nadr x9, 1f\nb refuse_call\n1: ldr x30, [sp], #16\nret");
int called(int);
#define refuse_call called
__asm__(".globl refuse_short\n.type refuse_short, @function\n.size refuse_short, 4\nrefuse_short:\nhint 34\nmov w0, 0\nret"); /* bti c */
FUNCTION("refuse_back", "1: subs w0, w0, 1\nb.ne 1b\nret");
FUNCTION("refuse_loop", ".inst 0x74000020\nret"); /* cbgt w0, w0, . + 4, which is too new to be run everywhere */
FUNCTION("refuse_trap", "brk 0");
#define refuse_loop refuse_sizeless
#define refuse_trap refuse_sizeless
FUNCTION("refuse_unknown", "hint 39\nmov w0, 1\nret"); /* pacm */
FUNCTION("refuse_part_cold", "mov w0, 5\nret");
__asm__(".globl refuse_sizeless\n.type refuse_sizeless, @function\nrefuse_sizeless:\nadd w0, w0, 4\nret");
/* a bti and a branch take the place of the first two instructions: the neighbour enters at the second one */
FUNCTION("refuse_entered", "hint 25\nrefuse_inner: add w0, w0, 7\nhint 29\nret");
FUNCTION("refuse_neighbour", "hint 25\nb refuse_inner");
FUNCTION("valloc", "add w0, w0, 6\nret");
__asm__(".globl refuse_other_name\n.set refuse_other_name, valloc\n.type refuse_other_name, @function\n.size refuse_other_name, 8");
#endif
__asm__(".globl refuse_part_cold.cold\n.set refuse_part_cold.cold, refuse_part_cold\n.type refuse_part_cold.cold, @function");

int main(void)
{
    void *p = malloc(10);

    printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", refuse_data, refuse_call(1), refuse_short(), refuse_back(5), refuse_loop(1), refuse_trap(1),
           refuse_sizeless(1), refuse_unknown(1), refuse_part_cold(1), refuse_other_name(1), refuse_entered(1),
           refuse_neighbour(1));
    free(p);
    return 0;
}
