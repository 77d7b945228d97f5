/* read: answers what lib/json makes of each text on stdin (a length of four bytes, then the text), for scripts/check-json: the
 * result, and the kinds and values of "do" and "label", a line each time. */
#include <stdint.h>
#include <stdio.h>

#include "json.h"

int main(void)
{
    static char text[1 << 16];
    char word[64], label[64];
    uint32_t n;

    while (fread(&n, sizeof n, 1, stdin) == 1 && n <= sizeof text && fread(text, 1, n, stdin) == n) {
        struct json_field fields[] = {{"do", word, sizeof word, JSON_ABSENT}, {"label", label, sizeof label, JSON_ABSENT}};
        int result = json_read(text, n, fields, 2);

        printf("%d", result);
        for (int i = 0; !result && i < 2; i++) {
            printf(" %d:", (int)fields[i].kind);
            for (const char *c = fields[i].value; *c; c++)
                printf("%02x", (unsigned char)*c);
        }
        putchar('\n');
    }
    return 0;
}
