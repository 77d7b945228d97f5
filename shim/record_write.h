/* record_write: a finished record becomes one line in the log. Worker only. */
#ifndef GIVEBACK_RECORD_WRITE_H
#define GIVEBACK_RECORD_WRITE_H

#include <stdbool.h>

#include "record.h"

struct settings;

/* Once, from the constructor. */
void record_write_start(const struct settings *s);
/* Sets r->lost to the number of records before this one that could not be written, keeps it as the last one, and writes it where it
 * is worth a line. false: it could not be written. */
bool record_write(struct record *r, bool worth_a_line);

#endif
