/* show: answers of the control socket, for people. */
#ifndef GIVEBACK_SHOW_H
#define GIVEBACK_SHOW_H

#include <json-c/json.h>
#include <stdbool.h>

/* A record as the line that the log has in text. false: it is none. */
bool show_record(struct json_object *record);
/* The answer to "status", several lines. */
void show_status(struct json_object *status);

#endif
