/* self: see self.h. */
#include "self.h"

#include <string.h>
#include <unistd.h>

bool self_folder(char folder[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (n < 0)
        return false;
    folder[n] = 0;
    strrchr(folder, '/')[1] = 0;
    return true;
}
