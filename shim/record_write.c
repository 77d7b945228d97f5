#include "record_write.h"

#include "last.h"
#include "options.h"
#include "sink.h"
#include "text.h"

static bool record_json_wanted;
static unsigned record_lost;

void record_write_start(const struct settings *s)
{
    record_json_wanted = s->json;
}

/* A log that does not open looks as if nothing had happened: once, where somebody may see it. */
static void record_say_lost(const struct record *r, int error)
{
    static bool said;
    char line[512];
    struct text t;

    if (said || !sink_path())
        return;
    said = true;
    text_init(&t, line, sizeof line - 1);
    text_str(&t, "giveback[");
    text_i64(&t, r->pid);
    text_str(&t, "]: GIVEBACK_LOG: ");
    text_printable(&t, sink_path(), 300);
    text_str(&t, " cannot be written (");
    text_errno(&t, error);
    text_str(&t, "): records are lost");
    t.size = sizeof line;
    text_char(&t, '\n');
    sink_write_stderr(line, t.len);
}

bool record_write(struct record *r, bool worth_a_line)
{
    static char line[RECORD_MAX + 1];
    size_t n;

    r->lost = record_lost;
    n = record_json(r, line, sizeof line);
    last_put(r->pid, line, n - 1); /* without its end */
    if (!worth_a_line)
        return true;
    if (!record_json_wanted)
        n = record_text(r, line, sizeof line);
    int error = sink_write(line, n, true);
    record_lost = error ? record_lost + 1 : 0;
    if (error)
        record_say_lost(r, -error);
    return !error;
}
