/* Says what its children would inherit: LD_PRELOAD as getenv and as environ have it, and as a real child sees it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

int main(void)
{
    const char *value = getenv("LD_PRELOAD");
    int n = 0;
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "LD_PRELOAD=", 11) == 0) {
            n++;
            printf("environ %s\n", *e + 11);
        }
    printf("getenv %s\nentries %d\n", value ? value : "none", n);
    (void)fflush(stdout);
    return system("echo child ${LD_PRELOAD-none}");
}
