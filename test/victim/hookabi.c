/* hookabi: whatever a call can carry, through functions named abi_*; prints what arrived, there and back. */
#include <complex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct big { long at[32]; };
struct mixed { double d; long l; };
struct four { double at[4]; };
struct big abi_struct(struct big b, int n);
struct mixed abi_mixed(struct mixed m);
struct four abi_four(struct four f);
long double abi_x87(long double a, long double b);
_Complex long double abi_two_x87(_Complex long double a);
int abi_varargs(char *to, const char *format, ...);
double abi_many(const int *a, const double *b, long c, long d, long e, long f, long g, long h, double i, double j, double k, double l, double m,
                double n, double o, double p, double q, double r, int s, int t);

/* Every register is loaded from `given`, seen by abi_xmm and the like, changed there, and looked at when it is back. Of the general
 * ones first those that a call may change, then those that it must not. */
#if defined __x86_64__
enum { CHANGED = 9, KEPT = 4, WIDE = 32 };
#elif defined __aarch64__
enum { CHANGED = 17, KEPT = 10, WIDE = 49 };
#endif
__attribute__((visibility("hidden"))) unsigned long given[CHANGED + KEPT], seen[CHANGED + KEPT], after[CHANGED + KEPT], changed[CHANGED + KEPT];
__attribute__((visibility("hidden"))) unsigned char wide_given[WIDE][64], wide_seen[WIDE][64], wide_after[WIDE][64], wide_changed[WIDE][64];
#if defined __x86_64__
#define LOAD(mov, kind, i, name) mov " " name "+64*" #i "(%rip), %" kind #i "\n"
#define STORE(mov, kind, i, name) mov " %" kind #i ", " name "+64*" #i "(%rip)\n"
#define EIGHT(op, a, b, c, d, e, f, g, h, ...) op(a, __VA_ARGS__) op(b, __VA_ARGS__) op(c, __VA_ARGS__) op(d, __VA_ARGS__) \
    op(e, __VA_ARGS__) op(f, __VA_ARGS__) op(g, __VA_ARGS__) op(h, __VA_ARGS__)
#define LOAD_(i, mov, kind, name) LOAD(mov, kind, i, name)
#define STORE_(i, mov, kind, name) STORE(mov, kind, i, name)
#define VECTORS16(op, ...) EIGHT(op, 0, 1, 2, 3, 4, 5, 6, 7, __VA_ARGS__) EIGHT(op, 8, 9, 10, 11, 12, 13, 14, 15, __VA_ARGS__)
#define VECTORS32(op, ...) VECTORS16(op, __VA_ARGS__) EIGHT(op, 16, 17, 18, 19, 20, 21, 22, 23, __VA_ARGS__) \
    EIGHT(op, 24, 25, 26, 27, 28, 29, 30, 31, __VA_ARGS__)
#define GENERAL(op, name) op("rax", 0, name) op("rcx", 1, name) op("rdx", 2, name) op("rsi", 3, name) op("rdi", 4, name) \
    op("r8", 5, name) op("r9", 6, name) op("r10", 7, name) op("r11", 8, name)
#define SAVED(op, name) op("r12", 9, name) op("r13", 10, name) op("r14", 11, name) op("r15", 12, name)
#define GET(r, i, name) "mov " name "+8*" #i "(%rip), %" r "\n"
#define PUT(r, i, name) "mov %" r ", " name "+8*" #i "(%rip)\n"
#define REGISTERS(kind, mov, n) \
    __asm__(".text\n.globl abi_" kind "\n.type abi_" kind ", @function\nabi_" kind ":\n" GENERAL(PUT, "seen") SAVED(PUT, "seen") \
            VECTORS##n(STORE_, mov, kind, "wide_seen") VECTORS##n(LOAD_, mov, kind, "wide_changed") GENERAL(GET, "changed") \
            "ret\n.size abi_" kind ", . - abi_" kind "\n" \
            "through_" kind ":\npush %r12\npush %r13\npush %r14\npush %r15\nsub $8, %rsp\n" \
            VECTORS##n(LOAD_, mov, kind, "wide_given") GENERAL(GET, "given") SAVED(GET, "given") "call abi_" kind "\n" \
            GENERAL(PUT, "after") SAVED(PUT, "after") VECTORS##n(STORE_, mov, kind, "wide_after") \
            "add $8, %rsp\npop %r15\npop %r14\npop %r13\npop %r12\nret\n")
REGISTERS("xmm", "movdqu", 16);
REGISTERS("ymm", "vmovdqu", 16);
REGISTERS("zmm", "vmovdqu64", 32);
void through_xmm(void);
void through_ymm(void);
void through_zmm(void);
#elif defined __aarch64__
#include "hookabi_aarch64.h"
#endif

__attribute__((noipa)) struct big abi_struct(struct big b, int n)
{
    for (int i = 0; i < 32; i++)
        b.at[i] = b.at[i] * n + i;
    return b;
}
__attribute__((noipa)) struct mixed abi_mixed(struct mixed m) { return (struct mixed){m.d * 2, m.l * 3}; }
__attribute__((noipa)) struct four abi_four(struct four f) { return (struct four){{f.at[3], f.at[2] * 2, f.at[1] * 3, f.at[0] * 4}}; }
__attribute__((noipa)) long double abi_x87(long double a, long double b) { return a / b; }
__attribute__((noipa)) _Complex long double abi_two_x87(_Complex long double a) { return a * a; }
__attribute__((noipa)) int abi_varargs(char *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsprintf(to, format, list);
    va_end(list);
    return n;
}
__attribute__((noipa)) double abi_many(const int *a, const double *b, long c, long d, long e, long f, long g, long h, double i, double j,
                                          double k, double l, double m, double n, double o, double p, double q, double r, int s, int t)
{
    return *a + 2 * *b + (double)(3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h) + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n +
           15 * o + 16 * p + 17 * q + 18 * r + 19 * s + 20 * t;
}

static void print(const char *what, const void *bytes, size_t n)
{
    printf("%s", what);
    for (size_t i = 0; i < n; i++)
        printf("%s%02x", i % 32 ? "" : "\n ", ((const unsigned char *)bytes)[i]);
    printf("\n");
}

static void registers(const char *kind, void (*through)(void))
{
    memset(wide_seen, 0, sizeof wide_seen);
    memset(wide_after, 0, sizeof wide_after);
    through();
    printf("%s: %d %d %d\n", kind, memcmp(seen, given, sizeof seen) == 0, memcmp(after, changed, CHANGED * sizeof *after) == 0,
           memcmp(after + CHANGED, given + CHANGED, KEPT * sizeof *after) == 0);
    print("seen", wide_seen, sizeof wide_seen);
    print("after", wide_after, sizeof wide_after);
}

int main(void)
{
    char text[200];
    struct big b = {{1, 2, 3}};
    int a = 5;
    double x = 2.5;

    for (size_t i = 0; i < sizeof wide_given; i++) {
        wide_given[i / 64][i % 64] = (unsigned char)(i * 7 + i / 64);
        wide_changed[i / 64][i % 64] = (unsigned char)(i * 11 + 3 * (i / 64));
    }
    for (unsigned long i = 0; i < CHANGED + KEPT; i++) {
        given[i] = 0x1111111111111111UL * (i + 1);
        changed[i] = ~given[i];
    }
#if defined __x86_64__
    registers("xmm", through_xmm);
    if (__builtin_cpu_supports("avx"))
        registers("ymm", through_ymm);
    if (__builtin_cpu_supports("avx512bw"))
        registers("zmm", through_zmm);
#elif defined __aarch64__
    memset(wide_given[48], 0, sizeof wide_given[48]); /* ffr is ones up to a place */
    memset(wide_changed[48], 0, sizeof wide_changed[48]);
    wide_given[48][0] = 0xff;
    wide_changed[48][0] = 0x0f;
    registers("q", through_q);
    if (has_sve())
        registers("z", through_z);
    if (has_sme())
        registers("streaming", through_s);
#endif
    b = abi_struct(b, 3); /* 256 bytes: as much of the stack as passes unasked */
    print("struct", &b, sizeof b);
    struct mixed m = abi_mixed((struct mixed){1.25, 7});
    printf("%a %ld\n", m.d, m.l);
    struct four f = abi_four((struct four){{1, 2, 3, 4}});
    printf("%a %a %a %a\n", f.at[0], f.at[1], f.at[2], f.at[3]);
    printf("%La\n", abi_x87(1.0L, 3.0L));
    _Complex long double z = abi_two_x87(1.0L + 2.0L * I);
    printf("%La %La\n", creall(z), cimagl(z));
    printf("%d", abi_varargs(text, "%d %s %g %Lg %ld %d %d %d %g %g %g %g %g %g %g %g %g", 1, "two", 3.0, 4.0L, 5L, 6, 7, 8, 9., 10., 11.,
                             12., 13., 14., 15., 16., 17.));
    printf(" %s\n", text);
    printf("%g\n", abi_many(&a, &x, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20));
    return 0;
}
