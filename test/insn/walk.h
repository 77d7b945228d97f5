/* walk: every function that the symbol tables of some files name, and what is said of them in the end. */
#ifndef GIVEBACK_TEST_WALK_H
#define GIVEBACK_TEST_WALK_H

#include <stddef.h>
#include <stdint.h>

typedef void (*walk_visit)(const char *name, const unsigned char *code, size_t size, uint64_t address);

/* The files that are of this machine (EM_...). Ends the program where one cannot be read. */
void walk_files(int n, char **files, unsigned machine, walk_visit visit);
/* A difference, with the first bytes that it is about; the first ones are printed. */
void walk_differ(const char *name, const char *what, const unsigned char *code, size_t n);
void walk_refuse(const char *why);
/* Prints all of it: of the functions that were visited `moved` could be, and `instructions` were read. The exit status: 1 where there
 * was a difference, or where less than half could be moved. */
int walk_end(unsigned long instructions, unsigned long moved);

#endif
