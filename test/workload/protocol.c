#include "protocol.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

const char *protocol_read(int fd, struct protocol_line *line)
{
    memmove(line->data, line->data + line->given, line->used - line->given);
    line->used -= line->given;
    line->given = 0;
    while (!line->ended) {
        char *end = memchr(line->data, '\n', line->used);
        if (end != NULL) {
            *end = '\0';
            line->given = (size_t)(end + 1 - line->data);
            return line->data;
        }
        if (line->used == sizeof line->data) {
            line->ended = 1;
            return "";
        }
        ssize_t n = recv(fd, line->data + line->used, sizeof line->data - line->used, 0);
        if (n < 0 && errno == EINTR) /* a socket with a time-out is not restarted after a signal */
            continue;
        if (n <= 0)
            return NULL;
        line->used += (size_t)n;
    }
    return NULL;
}

int protocol_write(int fd, const char *format, ...)
{
    char text[2 * PROTOCOL_LINE];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text - 1, format, args);
    va_end(args);
    size_t size = n < (int)sizeof text - 2 ? (size_t)n : sizeof text - 2;
    text[size++] = '\n';
    for (size_t at = 0; at < size;) {
        ssize_t sent = send(fd, text + at, size - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -1;
        at += (size_t)sent;
    }
    return 0;
}
