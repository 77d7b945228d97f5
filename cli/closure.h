/* closure: the program that a command means, and what ld.so loads with it. */
#ifndef GIVEBACK_CLOSURE_H
#define GIVEBACK_CLOSURE_H

/* The path of each file, the program (of a script: its interpreter) first. */
typedef void (*closure_visit)(void *context, const char *path);
/* `command` is searched for in PATH as exec does. 0, or -1 after a complaint. */
int closure_read(const char *command, closure_visit visit, void *context);

#endif
