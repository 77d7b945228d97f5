// Throws through several frames, on four threads, while signals come; strings, containers and shared_ptr on the way.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int depth(int n, const std::shared_ptr<std::string> &s)
{
    std::vector<std::string> kept(3, *s);
    if (n == 0)
        throw std::runtime_error(*s);
    return depth(n - 1, s) + static_cast<int>(kept.size());
}

static void run(int *caught)
{
    std::map<int, std::string> seen;
    for (int i = 0; i < 10000; i++) {
        auto s = std::make_shared<std::string>("thrown from deep inside, longer than a small string " + std::to_string(i));
        try {
            depth(i % 7, s);
        } catch (const std::runtime_error &e) {
            *caught += e.what() == *s && s.use_count() == 1;
            seen[i % 97] = e.what();
        }
    }
    *caught += static_cast<int>(seen.size() == 97);
}

int main()
{
    int caught[4] = {};
    std::vector<std::thread> threads;
    std::puts("ready");
    std::fflush(stdout);
    for (int i = 0; i < 4; i++)
        threads.emplace_back(run, &caught[i]);
    for (auto &t : threads)
        t.join();
    std::printf("%d %d %d %d\n", caught[0], caught[1], caught[2], caught[3]);
}
