/* library: where libgiveback.so is, and the value of LD_PRELOAD that loads it. */
#ifndef GIVEBACK_LIBRARY_H
#define GIVEBACK_LIBRARY_H

/* The absolute path of the library, to be freed: `named` where the user named one (NULL: not), else the one beside
 * this program or in the lib folder of where it is installed. NULL after a complaint. */
char *library_find(const char *named);
/* What LD_PRELOAD must be: `inherited` (NULL: unset) with `path` behind it, once. To be freed. NULL: out of memory. */
char *library_preload(const char *inherited, const char *path);

#endif
