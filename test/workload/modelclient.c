/* modelclient: asks the model server on 127.0.0.1, once or many times, and judges the answers.
 *
 * Every answer to one seed must be the same; with --verify it must be the one that reference.c computes from the
 * checkpoint. With more than one request it prints requests a second and percentiles of their latency. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "protocol.h"
#include "reference.h"

#define CONNECTIONS_MAX 64
#define REQUESTS_MAX 10000000
#define DISTINCT_MAX 1000

struct expected {
    struct w4a8_answer answer;
    int known; /* from the reference or from the first answer */
};

struct client {
    uint16_t port;
    uint64_t seed;
    size_t layers; /* 0: all */
    size_t requests, connections, distinct;
    unsigned timeout;
    const char *verify;
    int json;
    pthread_mutex_t lock; /* over all below */
    size_t next, done, errors, wrong;
    struct expected *expected; /* one a seed */
    double *latency;           /* ms, one a request that was answered */
    char error[2 * PROTOCOL_LINE]; /* the first one */
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Lock held. */
static void note_error(struct client *c, const char *text)
{
    if (c->errors++ == 0)
        snprintf(c->error, sizeof c->error, "%s", text);
}

static void fail(struct client *c, const char *what)
{
    char text[PROTOCOL_LINE];
    snprintf(text, sizeof text, "%s: %s", what, errno ? strerror(errno) : "connection closed");
    pthread_mutex_lock(&c->lock);
    note_error(c, text);
    pthread_mutex_unlock(&c->lock);
}

static int connect_to(const struct client *c)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(c->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct timeval limit = { .tv_sec = c->timeout };
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Judges the answer to request `index`. */
static void judge(struct client *c, size_t index, const char *line, double ms)
{
    struct expected *e = &c->expected[index % c->distinct];
    uint64_t seed;
    size_t layers;
    struct w4a8_answer a;
    int fields = sscanf(line, "answer %" SCNu64 " %zu %16" SCNx64 " %ld", &seed, &layers, &a.hash, &a.token);
    pthread_mutex_lock(&c->lock);
    if (fields != 4 || seed != c->seed + index % c->distinct || (c->layers != 0 && layers != c->layers)) {
        note_error(c, line);
    } else {
        c->latency[c->done++] = ms;
        if (!e->known)
            *e = (struct expected){ a, 1 };
        else
            c->wrong += a.hash != e->answer.hash || a.token != e->answer.token;
        if (c->requests == 1 && !c->json)
            printf("%s\n", line);
    }
    pthread_mutex_unlock(&c->lock);
}

/* The next request's number, or c->requests when there is none. */
static size_t take_request(struct client *c)
{
    pthread_mutex_lock(&c->lock);
    size_t index = c->next < c->requests ? c->next++ : c->requests;
    pthread_mutex_unlock(&c->lock);
    return index;
}

static void *connection_main(void *argument)
{
    struct client *c = argument;
    struct protocol_line line = { .used = 0 };
    int fd = connect_to(c);
    if (fd < 0) {
        fail(c, "connect");
        return NULL;
    }
    for (size_t index; (index = take_request(c)) < c->requests;) {
        char layers[24] = "";
        if (c->layers != 0)
            snprintf(layers, sizeof layers, " %zu", c->layers);
        double start = now_ms();
        errno = 0;
        const char *text = NULL;
        if (protocol_write(fd, "run %" PRIu64 "%s", c->seed + index % c->distinct, layers) != 0 ||
            (text = protocol_read(fd, &line)) == NULL) {
            fail(c, "request");
            break;
        }
        judge(c, index, text, now_ms() - start);
    }
    close(fd);
    return NULL;
}

static void compute_expected(struct client *c)
{
    struct model m;
    char error[GPTQ_ERROR];
    int failed = model_open(&m, c->verify, error);
    for (size_t i = 0; i < c->distinct && !failed; i++) {
        failed = reference_run(&m, c->seed + i, c->layers, &c->expected[i].answer, error);
        c->expected[i].known = 1;
    }
    if (failed) {
        fprintf(stderr, "modelclient: %s: %s\n", c->verify, error);
        exit(1);
    }
    model_close(&m);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double percentile(const struct client *c, double p)
{
    return c->done ? c->latency[(size_t)(p * (double)(c->done - 1) + 0.5)] : 0;
}

static int report(struct client *c, double ms)
{
    const char *verified = c->verify == NULL ? "not checked" : c->wrong || c->errors ? "no" : "yes";
    double rate = ms > 0 ? (double)c->done / ms * 1e3 : 0;
    qsort(c->latency, c->done, sizeof *c->latency, by_value);
    if (c->json)
        printf("{\"requests\":%zu,\"answered\":%zu,\"errors\":%zu,\"wrong\":%zu,\"verified\":%s,\"seconds\":%.3f,"
               "\"requests_per_second\":%.2f,\"p50_ms\":%.3f,\"p90_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}\n",
               c->requests, c->done, c->errors, c->wrong, c->verify == NULL ? "null" : *verified == 'y' ? "true" : "false", ms / 1e3,
               rate, percentile(c, 0.5), percentile(c, 0.9), percentile(c, 0.99), percentile(c, 1));
    else
        printf("%zu of %zu answered, %zu errors, %zu wrong, verified: %s; %.2f requests/s, latency ms p50 %.2f p90 %.2f p99 "
               "%.2f max %.2f\n",
               c->done, c->requests, c->errors, c->wrong, verified, rate, percentile(c, 0.5), percentile(c, 0.9),
               percentile(c, 0.99), percentile(c, 1));
    if (c->errors)
        fprintf(stderr, "modelclient: 127.0.0.1:%u: %s\n", c->port, c->error);
    return c->errors || c->wrong || c->done != c->requests;
}

static int run(struct client *c)
{
    pthread_t threads[CONNECTIONS_MAX];
    c->expected = calloc(c->distinct, sizeof *c->expected);
    c->latency = calloc(c->requests, sizeof *c->latency);
    if (c->expected == NULL || c->latency == NULL) {
        fprintf(stderr, "modelclient: no memory for %zu requests\n", c->requests);
        return 1;
    }
    if (c->verify != NULL)
        compute_expected(c);
    size_t started = 0;
    double start = now_ms();
    while (started < c->connections && pthread_create(&threads[started], NULL, connection_main, c) == 0)
        started++;
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    int result = report(c, now_ms() - start);
    free(c->latency);
    free(c->expected);
    return result;
}

static void usage(FILE *to)
{
    fputs("usage: modelclient --port PORT [--seed 1] [--layers N] [--requests 1] [--connections 1] [--distinct 1]\n"
          "                   [--verify CHECKPOINT] [--timeout 60] [--json]\n"
          "Seeds go from --seed through --distinct values in turn. --layers stops after so many layers, before the head.\n"
          "Exit code 0: all answered, and right as far as it could be judged.\n",
          to);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "port", 1, NULL, 'p' },     { "seed", 1, NULL, 's' },   { "layers", 1, NULL, 'l' },  { "requests", 1, NULL, 'r' }, { "connections", 1, NULL, 'c' },
        { "distinct", 1, NULL, 'd' }, { "verify", 1, NULL, 'v' }, { "timeout", 1, NULL, 't' }, { "json", 0, NULL, 'j' },     { "help", 0, NULL, 'h' },
        { NULL, 0, NULL, 0 }
    };
    struct client c = { .seed = 1, .requests = 1, .connections = 1, .distinct = 1, .timeout = 60, .lock = PTHREAD_MUTEX_INITIALIZER };
    int o;
    while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (o) {
        case 'p': c.port = (uint16_t)options_number("modelclient: --port", optarg, 1, 65535); break;
        case 's': c.seed = options_number("modelclient: --seed", optarg, 0, UINT32_MAX); break;
        case 'l': c.layers = options_number("modelclient: --layers", optarg, 1, W4A8_LAYERS_MAX); break;
        case 'r': c.requests = options_number("modelclient: --requests", optarg, 1, REQUESTS_MAX); break;
        case 'c': c.connections = options_number("modelclient: --connections", optarg, 1, CONNECTIONS_MAX); break;
        case 'd': c.distinct = options_number("modelclient: --distinct", optarg, 1, DISTINCT_MAX); break;
        case 'v': c.verify = optarg; break;
        case 't': c.timeout = (unsigned)options_number("modelclient: --timeout", optarg, 1, 3600); break;
        case 'j': c.json = 1; break;
        case 'h': usage(stdout); return 0;
        default: usage(stderr); return 2;
        }
    }
    if (c.port == 0 || optind != argc) {
        usage(stderr);
        return 2;
    }
    return run(&c);
}
