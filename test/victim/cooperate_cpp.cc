/* The example of cooperate.c in C++: a scope that gives back when it is left, also by an exception. */
#include <giveback.h>

#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

struct phase {
    const char *name;
    ~phase() { ::giveback_release(name); }
};

static void load()
{
    phase p{"load"};
    std::vector<std::string> lines(1000, std::string(40000, 'x'));
    throw std::runtime_error("the last line is not whole");
}

int main()
{
    std::vector<char> record(4096);
    try {
        load();
    } catch (const std::exception &e) {
        std::cout << e.what() << "\n";
    }
    giveback_last(record.data(), record.size());
    std::cout << giveback_mark("serving") << " " << (giveback_anon() > 0) << " " << record.data() << "\n";
    return 0;
}
