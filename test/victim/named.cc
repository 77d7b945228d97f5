// named: functions with C++ and Rust names, overloads, a template, an operator, and arguments that take much of the stack.
#include <cstdio>
#include <string>

struct big {
    char bytes[600];
};
struct words {
    long a, b, c;
};

#define FUNCTION __attribute__((noipa))

int rust_new(int) __asm__("_RNvNtC5named4deep4work");
int rust_old(int) __asm__("_ZN5named4deep3old17h0123456789abcdefE");
FUNCTION int rust_new(int n) { return n * 37 + 1; }
FUNCTION int rust_old(int n) { return n * 37 + 2; }

namespace shop {
FUNCTION int order(int n) { return n * 37 + 3; }
FUNCTION int order(long n) { return static_cast<int>(n * 41) + 4; }
FUNCTION int order(big b) { return b.bytes[599]; }
FUNCTION int many(words a, words b, words c, words d, words e, words f, words g, words h, words i, words j, words k)
{
    return static_cast<int>(a.a + b.b + c.c + d.a + e.b + f.c + g.a + h.b + i.c + j.a + k.c);
}
// eleven of them, of which each is passed by its address
FUNCTION int texts(std::string a, std::string b, std::string c, std::string d, std::string e, std::string f, std::string g, std::string h,
                   std::string i, std::string j, std::string k)
{
    return static_cast<int>((a + b + c + d + e + f + g + h + i + j + k).size());
}
FUNCTION int tiny(int n) { return n; }
struct cart {
    int n;
    FUNCTION cart &operator=(int m)
    {
        n = m;
        return *this;
    }
    FUNCTION int operator->*(int m) { return n * m; }
};
template <typename T> FUNCTION T half(T n) { return n / 2; }
} // namespace shop

int main()
{
    big b{};
    words w{1, 2, 3};
    shop::cart c{};

    b.bytes[599] = 9;
    c = 5;
    std::printf("%d %d %d %d %d\n", rust_new(1), rust_old(1), shop::order(1), shop::order(1L), shop::order(b));
    std::printf("%d %d %d %d\n", shop::many(w, w, w, w, w, w, w, w, w, w, w), shop::texts("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"),
                c->*3 + shop::tiny(0), shop::half(10) + static_cast<int>(shop::half(3.0)));
    return 0;
}
