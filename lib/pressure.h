/* pressure: where the kernel reports memory pressure, and what systemd's protocol says of it. Pure. */
#ifndef GIVEBACK_PRESSURE_H
#define GIVEBACK_PRESSURE_H

#include <stddef.h>

/* What is written into a pressure file: at least 200 ms of stall within 2 s, with the NUL that the kernel takes for the end. A process
 * without CAP_SYS_RESOURCE may only name windows that are whole multiples of 2 s (kernels before mid-2023: none). */
#define PRESSURE_TRIGGER "some 200000 2000000"

/* Base64 (RFC 4648, padded; blanks and line ends do not count) into `out`: how many bytes, or -EINVAL, or -ENOBUFS. */
long pressure_decode(const char *base64, unsigned char *out, size_t size);

/* The path of the process in the cgroup v2 hierarchy, out of the text of /proc/PID/cgroup. 0, -ENODATA (cgroup v1 only), or
 * -ENAMETOOLONG. */
int pressure_cgroup(const char *text, size_t n, char *path, size_t size);
/* One line of /proc/PID/mountinfo, without its end. Where it is a cgroup v2 mount in which the cgroup of that path is seen: 0, and
 * the path of the cgroup's memory.pressure; else -ENOENT, or -ENAMETOOLONG. */
int pressure_file(const char *line, size_t n, const char *cgroup, char *path, size_t size);

#endif
