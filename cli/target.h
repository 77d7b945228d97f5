/* target: functions in an event that are named as C++ and Rust name them become names as symbol tables have them. */
#ifndef GIVEBACK_TARGET_H
#define GIVEBACK_TARGET_H

/* `value` (of GIVEBACK_ON) with such names turned, looked for in the program and its libraries, or in the file that stands in
 * the place of OBJECT. To be freed; NULL after a complaint. */
char *target_turn(const char *value, const char *program);

#endif
