/* demangle: what a C++ or Rust name means, from libiberty, which binutils and gdb use as well. */
#ifndef GIVEBACK_DEMANGLE_H
#define GIVEBACK_DEMANGLE_H

/* std::istream::get(char&), as nm and gdb show it; std::istream::get; std::basic_istream<char, std::char_traits<char> >::get(char&),
 * as c++filt does. */
enum demangle_form { NAME_USUAL, NAME_BARE, NAME_VERBOSE };
/* NULL: it is no such name. To be freed. */
char *demangle(const char *name, enum demangle_form form);

#endif
