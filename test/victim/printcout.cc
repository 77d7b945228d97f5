// printcout WAY: says "the load has finished" by C++'s streams, then "all said" on stderr, and stays until stdin ends.
#include <iostream>
#include <string>
#include <unistd.h>

int main(int argc, char **argv)
{
    const std::string way = argc > 1 ? argv[1] : "", text = "the load has ";
    char c;

    if (way == "unsynced")
        std::ios::sync_with_stdio(false);
    (way == "cerr" ? std::cerr : way == "clog" ? std::clog : std::cout) << text << "finished" << std::endl;
    std::cerr << "all said" << std::endl;
    while (read(0, &c, 1) > 0)
        ;
    return 7;
}
