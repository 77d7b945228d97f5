/* machine: for what type of machine this tool, and the library beside it, are made. */
#ifndef GIVEBACK_MACHINE_H
#define GIVEBACK_MACHINE_H

#include <elf.h>

#if defined __x86_64__
#define MACHINE EM_X86_64
#define MACHINE_NAME "x86-64"
#else
#define MACHINE EM_AARCH64
#define MACHINE_NAME "aarch64"
#endif

#endif
