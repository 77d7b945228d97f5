/* policy: when an event that nobody asked for may be carried out. The worker's alone; forgotten in a forked child. */
#ifndef GIVEBACK_POLICY_H
#define GIVEBACK_POLICY_H

#include <stdbool.h>
#include <stdint.h>

struct record;
struct settings;

/* Once, from the constructor. */
void policy_configure(const struct settings *s);
/* A worker begins in this process; `first`: the first one. */
void policy_open(bool first);
/* The earliest moment (CLOCK_MONOTONIC, nanoseconds) for the next automatic event; 0: at once; INT64_MAX: not while paused. */
int64_t policy_due(void);
bool policy_ready(int64_t now);
/* How many times longer a period is to be than was asked for. */
unsigned policy_factor(void);
/* An action was carried out. false: it is not worth a line, and only counted. */
bool policy_acted(const struct record *r, bool automatic, int64_t now);
/* Nothing automatic while it is paused. */
void policy_pause(bool paused);
bool policy_is_paused(void);

struct policy_counts {
    unsigned long releases, marks, merged, unlogged; /* unlogged: releases not worth a line */
};
const struct policy_counts *policy_count(void);

#endif
