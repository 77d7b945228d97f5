/* pace: when a release that nobody asked for is worth its cost. Pure; all times are nanoseconds of one clock, all sizes
 * bytes, -1 where a figure could not be read.
 *
 * Regret is memory that was given back and faulted in again. Measured: returning 1 GiB costs 40 to 100 ms, taking it back
 * about 580 ms; a loop that frees and allocates became three times slower with a release every time. */
#ifndef GIVEBACK_PACE_H
#define GIVEBACK_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_MOST 64             /* the back-off doubles up to this */
#define PACE_LITTLE (1 << 20)    /* a release of less gave nothing */
#define PACE_GROWN (64 << 20)    /* growth that counts, together with 10 % */
#define PACE_SETTLE_NS INT64_C(2000000000)
#define PACE_SETTLED_NS INT64_C(60000000000)

struct pace {
    int64_t interval;        /* least time between two automatic releases */
    unsigned factor;         /* the back-off: 1 to PACE_MOST intervals */
    int64_t due;             /* no automatic one before this; 0: at once */
    int64_t after, returned; /* of the last release; after -1: there was none, or it is unknown */
};

void pace_start(struct pace *p, int64_t interval);
/* A release has been carried out. Whoever asked for it, what has come back since the one before it moves the factor: half
 * of it or more doubles, less than a quarter halves, growth well beyond it is a new phase and begins again; so does an
 * automatic one that gave nothing double it. An automatic one makes the next wait. */
void pace_acted(struct pace *p, int64_t before, int64_t after, bool automatic, int64_t now);

/* Is `anon` so much more than `base` (0: everything is) that giving back could pay? */
bool pace_grown(int64_t base, int64_t anon);

/* settle: one release after growth and quiet, the next only after a long quiet, and none any more once what went back comes
 * back; until the process grows well beyond that. */
struct pace_settle {
    int64_t base;     /* RssAnon after the last record of any event; 0: none yet */
    int64_t returned; /* by the last release of this one */
    bool again;       /* it has released once */
    bool stopped;     /* what it gave back came back */
};
enum pace_verdict { PACE_WAIT, PACE_RELEASE, PACE_STOP /* said once */ };
/* `quiet`: for how long the process has done next to nothing; `wanted`: how long it is to have. */
enum pace_verdict pace_settle_look(struct pace_settle *s, int64_t anon, int64_t quiet, int64_t wanted);
/* How long it has to be quiet now. */
int64_t pace_settle_quiet(const struct pace_settle *s, int64_t anon, int64_t wanted);
void pace_settle_acted(struct pace_settle *s, int64_t before, int64_t after, bool own);

#endif
