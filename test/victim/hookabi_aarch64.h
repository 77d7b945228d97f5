/* hookabi's registers on aarch64: x0 to x15 and x18, x19 to x28 (x16 and x17 are lost in any call); q registers; z, p and ffr; the
 * z and p registers of streaming mode. Rows of 64 bytes: 32 vectors, then 16 predicates, then ffr. */
#include <sys/auxv.h>

__asm__(
    ".arch_extension sve\n"
    ".macro address r, name\n adrp \\r, \\name\n add \\r, \\r, :lo12:\\name\n.endm\n"
    ".macro general op, name\n address x17, \\name\n"
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,18\n \\op x\\n, [x17], #8\n.endr\n.endm\n"
    ".macro saved op\n.irp n,19,20,21,22,23,24,25,26,27,28\n \\op x\\n, [x17], #8\n.endr\n.endm\n"
    ".macro floats op\n.irp n,8,9,10,11,12,13,14,15\n \\op d\\n, [x17], #8\n.endr\n.endm\n"
    ".macro wide op, kind\n"
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
    " \\op \\kind\\()\\n, [x16]\n add x16, x16, #64\n.endr\n.endm\n"
    ".macro predicates op\n.irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n \\op p\\n, [x16]\n add x16, x16, #64\n.endr\n.endm\n"
    ".macro load_q name\n address x16, \\name\n wide ldr, q\n.endm\n"
    ".macro store_q name\n address x16, \\name\n wide str, q\n.endm\n"
    ".macro load_s name\n address x16, \\name\n wide ldr, z\n predicates ldr\n.endm\n"
    ".macro store_s name\n address x16, \\name\n wide str, z\n predicates str\n.endm\n"
    ".macro load_z name\n address x16, \\name + 48 * 64\n ldr p0, [x16]\n wrffr p0.b\n load_s \\name\n.endm\n"
    ".macro store_z name\n store_s \\name\n rdffr p0.b\n str p0, [x16]\n.endm\n"
    ".macro begin_q\n.endm\n.macro end_q\n.endm\n.macro begin_z\n.endm\n.macro end_z\n.endm\n"
    ".macro begin_s\n .inst 0xd503437f\n.endm\n.macro end_s\n .inst 0xd503427f\n.endm\n" /* smstart sm, smstop sm */
    ".text\n"
    ".macro registers kind\n"
    ".globl abi_\\kind\n.type abi_\\kind, @function\n"
    "abi_\\kind:\n general str, seen\n saved str\n store_\\kind wide_seen\n load_\\kind wide_changed\n general ldr, changed\n ret\n"
    ".size abi_\\kind, . - abi_\\kind\n"
    ".globl through_\\kind\n.hidden through_\\kind\nthrough_\\kind:\n" /* global: ld 2.40 loses the addend of a local one in the GOT */
    " stp x29, x30, [sp, #-176]!\n add x17, sp, #16\n saved str\n floats str\n begin_\\kind\n"
    " load_\\kind wide_given\n general ldr, given\n saved ldr\n bl abi_\\kind\n general str, after\n saved str\n store_\\kind wide_after\n"
    " end_\\kind\n add x17, sp, #16\n saved ldr\n floats ldr\n ldp x29, x30, [sp], #176\n ret\n"
    ".endm\n"
    "registers q\nregisters z\nregisters s\n");
void through_q(void);
void through_z(void);
void through_s(void);

static int has_sve(void)
{
    return getauxval(AT_HWCAP) >> 22 & 1;
}

static int has_sme(void)
{
    return getauxval(AT_HWCAP2) >> 23 & 1;
}
