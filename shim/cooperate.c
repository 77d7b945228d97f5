/* The functions that a cooperating program calls (lib/giveback.h): a thread of the host's at a point that its author has chosen. */
#include <stddef.h>
#include <stdint.h>

#include "last.h"
#include "post.h"
#include "safe.h"

#define COOPERATE_EXPORT __attribute__((visibility("default")))

int giveback_release(const char *label);
int giveback_mark(const char *label);
int64_t giveback_anon(void);
int giveback_last(char *buffer, size_t size);

COOPERATE_EXPORT int giveback_release(const char *label)
{
    return safe_call(POST_CALL_RELEASE, label);
}

COOPERATE_EXPORT int giveback_mark(const char *label)
{
    return safe_call(POST_CALL_MARK, label);
}

COOPERATE_EXPORT int64_t giveback_anon(void)
{
    return safe_anon();
}

COOPERATE_EXPORT int giveback_last(char *buffer, size_t size)
{
    return last_copy(buffer, size);
}
