/* modelserver: loads a GPTQ int4 checkpoint, repacks it to int8, and answers requests over TCP on 127.0.0.1.
 *
 * It stands for a server that nobody may change: it does nothing about the memory that its allocator keeps, and knows of
 * nobody who does. The main thread loads and then waits for SIGTERM or SIGINT; each of the other threads serves one
 * connection at a time. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model.h"
#include "options.h"
#include "protocol.h"

#define THREADS_MAX 64
#define IDLE_SECONDS 30 /* a connection that says nothing for so long is closed: there are only so many threads */

struct server {
    struct model model;
    int listener;
    pthread_mutex_t lock; /* over the two below */
    int stopping;
    int connection[THREADS_MAX]; /* what each thread serves, -1: nothing */
    uint64_t served;
};

struct worker {
    struct server *server;
    size_t index;
    pthread_t thread;
};

/* "run SEED [LAYERS]": 0, or -1 when the line is anything else. */
static int parse_request(const char *line, size_t all, uint64_t *seed, size_t *layers)
{
    char *end;
    if (strncmp(line, "run ", 4) != 0 || line[4] < '0' || line[4] > '9')
        return -1;
    errno = 0;
    *seed = strtoull(line + 4, &end, 10);
    *layers = all;
    if (*end == ' ' && end[1] >= '0' && end[1] <= '9')
        *layers = strtoull(end + 1, &end, 10);
    return errno == 0 && *end == '\0' && *layers >= 1 && *layers <= all ? 0 : -1;
}

static void serve_connection(struct server *s, int fd)
{
    struct protocol_line line = { .used = 0 };
    const char *text;
    int failed = 0;
    while (!failed && (text = protocol_read(fd, &line)) != NULL) {
        uint64_t seed;
        size_t layers;
        if (parse_request(text, s->model.layers, &seed, &layers) != 0) {
            failed = protocol_write(fd, "error expected a line of less than %d bytes: run SEED [LAYERS], LAYERS from 1 to %zu",
                                    PROTOCOL_LINE, s->model.layers);
            continue;
        }
        struct w4a8_answer a = model_run(&s->model, seed, layers);
        failed = protocol_write(fd, "answer %" PRIu64 " %zu %016" PRIx64 " %ld", seed, layers, a.hash, a.token);
        __atomic_add_fetch(&s->served, 1, __ATOMIC_RELAXED);
    }
}

/* Says what this thread serves from now on; 0, or -1 when the server is being stopped. */
static int worker_claim(struct worker *w, int fd)
{
    pthread_mutex_lock(&w->server->lock);
    int stopping = w->server->stopping;
    w->server->connection[w->index] = fd;
    pthread_mutex_unlock(&w->server->lock);
    return stopping ? -1 : 0;
}

static void *worker_main(void *argument)
{
    struct worker *w = argument;
    struct timeval idle = { .tv_sec = IDLE_SECONDS };
    int one = 1;
    for (;;) {
        int fd = accept4(w->server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0) /* EINVAL: the listener has been shut down */
            return NULL;
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof idle);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        int stopping = worker_claim(w, fd);
        if (!stopping)
            serve_connection(w->server, fd);
        worker_claim(w, -1);
        close(fd);
        if (stopping)
            return NULL;
    }
}

/* A listening socket on 127.0.0.1; *port 0 becomes the one that the kernel chose. */
static int listen_on(uint16_t *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 128) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        fprintf(stderr, "modelserver: 127.0.0.1:%u: cannot listen: %s\n", *port, strerror(errno));
        exit(1);
    }
    *port = ntohs(address.sin_port);
    return fd;
}

static void server_stop(struct server *s, size_t threads)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = 1;
    shutdown(s->listener, SHUT_RDWR);
    for (size_t i = 0; i < threads; i++)
        if (s->connection[i] >= 0)
            shutdown(s->connection[i], SHUT_RD); /* the answer under way is still sent */
    pthread_mutex_unlock(&s->lock);
}

static void serve(struct server *s, uint16_t port, size_t threads)
{
    struct worker workers[THREADS_MAX];
    sigset_t stop;
    int got;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stop, NULL); /* only from here on: while it loads, the default action ends it at once */
    s->listener = listen_on(&port);
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){ .server = s, .index = i };
        s->connection[i] = -1;
        int error = pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
        if (error != 0) {
            fprintf(stderr, "modelserver: thread %zu of %zu: %s\n", i + 1, threads, strerror(error));
            exit(1);
        }
    }
    printf("listening on 127.0.0.1:%u\n", port);
    while (sigwait(&stop, &got) != 0)
        ;
    printf("stopping on signal %d\n", got);
    server_stop(s, threads);
    for (size_t i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    close(s->listener);
    printf("stopped after %" PRIu64 " requests\n", s->served);
}

static void usage(FILE *to)
{
    fputs("usage: modelserver [--port 0] [--threads 4] CHECKPOINT.safetensors\n"
          "Serves the model on 127.0.0.1; --port 0 takes a free port, which the line \"listening on\" names.\n",
          to);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "port", 1, NULL, 'p' }, { "threads", 1, NULL, 't' }, { "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 } };
    static struct server server = { .lock = PTHREAD_MUTEX_INITIALIZER };
    char error[GPTQ_ERROR];
    uint16_t port = 0;
    size_t threads = 4;
    int c;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'p': port = (uint16_t)options_number("modelserver: --port", optarg, 0, 65535); break;
        case 't': threads = options_number("modelserver: --threads", optarg, 1, THREADS_MAX); break;
        case 'h': usage(stdout); return 0;
        default: usage(stderr); return 2;
        }
    }
    if (optind + 1 != argc) {
        usage(stderr);
        return 2;
    }
    setlinebuf(stdout); /* so that a log line is out when it has been printed, into a file too */
    if (model_open(&server.model, argv[optind], error) != 0 || model_load(&server.model, error) != 0) {
        fprintf(stderr, "modelserver: %s: %s\n", argv[optind], error);
        return 1;
    }
    serve(&server, port, threads);
    model_close(&server.model);
    return 0;
}
