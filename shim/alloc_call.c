/* GIVEBACK_CALL: functions without arguments that the user names, called before the allocators. */
#include <string.h>

#include "alloc.h"
#include "glob.h"
#include "options.h"
#include "parse.h"

enum { CALL_ITEMS = ALLOC_FUNCTIONS };

/* "libfoo.so*:foo_trim" taken apart; in a copy, since the pieces are wanted as strings. */
static struct {
    char text[OPTION_VALUE_MAX + 1];
    const char *object[CALL_ITEMS]; /* a glob; "": any */
    const char *symbol[CALL_ITEMS];
    size_t n;
} call;

void alloc_call_configure(const char *list)
{
    const char *item;
    size_t n, used = 0;

    call.n = 0;
    while (call.n < CALL_ITEMS && parse_item(&list, &item, &n) && used + n + 2 <= sizeof call.text) {
        char *copy = call.text + used;
        memcpy(copy, item, n);
        copy[n] = '\0';
        used += n + 1;
        char *colon = strrchr(copy, ':');
        if (colon)
            *colon = '\0';
        call.object[call.n] = colon ? copy : "";
        call.symbol[call.n++] = colon ? colon + 1 : copy;
    }
}

size_t alloc_call_wanted(const char *object, const char *names[ALLOC_FUNCTIONS], bool *named)
{
    size_t n = 0;

    *named = false;
    for (size_t i = 0; i < call.n; i++) {
        bool match = call.object[i][0] && glob_match(call.object[i], object);
        if (match || (!call.object[i][0] && !alloc_has_call(call.symbol[i])))
            names[n++] = call.symbol[i];
        *named |= match;
    }
    return n;
}

const char *alloc_call_missing(size_t i)
{
    for (size_t k = 0; k < call.n; k++)
        if (!alloc_has_call(call.symbol[k]) && i-- == 0)
            return call.symbol[k];
    return NULL;
}

static int alloc_call_step(struct alloc_copy *c, unsigned n)
{
    (void)n;
    ((void (*)(void))c->at[0])();
    return ALLOC_DONE;
}

const struct alloc_kind alloc_call = {.name = "", .step = alloc_call_step};
