/* protocol: one line in, one line out, over TCP on loopback.
 *
 *   run SEED [LAYERS]   ->   answer SEED LAYERS HASH TOKEN   (HASH: 16 hexadecimal digits; TOKEN: -1 without the head)
 *   anything else       ->   error TEXT */
#ifndef WORKLOAD_PROTOCOL_H
#define WORKLOAD_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_LINE 128

struct protocol_line {
    char data[PROTOCOL_LINE];
    size_t used; /* bytes in data: the line that was given out last and what came behind it */
    size_t given;
    int ended; /* a line was too long: nothing more is taken from this stream */
};

/* The next line from the socket, without its end; NULL at the end of the stream, on an error and after a time-out of the
 * socket's. A line that is too long comes back as an empty one, once, and nothing follows. */
const char *protocol_read(int fd, struct protocol_line *line);
/* 0, or -1 when the peer has gone. */
int protocol_write(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
