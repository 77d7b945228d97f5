#include "record_write.h"

#include <stdbool.h>

#include "options.h"
#include "sink.h"

static bool record_json_wanted;
static unsigned record_lost;

void record_write_start(const struct settings *s)
{
    record_json_wanted = s->json;
}

void record_write(struct record *r)
{
    static char line[RECORD_MAX + 1];
    size_t n;

    r->lost = record_lost;
    n = record_json_wanted ? record_json(r, line, sizeof line) : record_text(r, line, sizeof line);
    if (sink_write(line, n, true) == 0)
        record_lost = 0;
    else
        record_lost++;
}
