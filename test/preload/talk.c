/* The part of the harness that talks to hosts with and without the library and compares them. */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

unsigned host_storm(struct host *h, int sig, unsigned per_second)
{
    struct timespec next;
    unsigned sent = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; !host_gone(h); sent++) {
        (void)kill(h->pid, sig); /* a zombie takes it too, and it is reaped only here */
        next.tv_nsec += 1000000000L / per_second;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        if (harness_now() > end)
            host_fail(h, "waiting for the host's end under a storm of signals");
    }
    return sent;
}

void host_wait_caught(struct host *h, int sig)
{
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; !(host_mask(h, "SigCgt") >> (sig - 1) & 1); harness_look_again())
        if (host_gone(h) || harness_now() > end)
            host_fail(h, "waiting for a handler to be there");
}

void host_deliver(struct host *h, int sig, long syscall)
{
    host_wait_syscall(h, syscall);
    host_kill(h, sig);
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; !host_gone(h) && host_mask(h, "ShdPnd") >> (sig - 1) & 1; harness_look_again())
        if (harness_now() > end)
            host_fail(h, "waiting until a signal was taken");
}

/* One run of host_same. */
static void host_talk(struct host *h, const struct host_setup *s, unsigned turns, unsigned releases)
{
    host_start(h, s);
    for (unsigned i = 1; i <= turns; i++) {
        host_wait_lines(h, "ready", i);
        for (unsigned n = 0; n < releases; n++)
            host_release(h);
        host_say(h, "\n");
    }
    (void)host_end(h);
}

void host_compare(struct host *bare, struct host *with, const char *what)
{
    char *out = file_text(bare->out), *err = file_text(bare->err), *out_with = file_text(with->out), *err_with = file_text(with->err);
    ck_assert_msg(bare->status == with->status, "%s: status %#x without, %#x with the library\nout: %s\nerr: %s\nlog: %s", what,
                  bare->status, with->status, out_with, err_with, file_text(with->log));
    ck_assert_msg(strcmp(out, out_with) == 0, "%s: stdout without:\n%s\nwith the library:\n%s", what, out, out_with);
    ck_assert_msg(strcmp(err, err_with) == 0, "%s: stderr without:\n%s\nwith the library:\n%s", what, err, err_with);
    free(out), free(err), free(out_with), free(err_with);
}

int host_same(const struct host_setup *s, unsigned turns, unsigned releases)
{
    struct host bare, with;
    struct host_setup without = *s;
    char what[200];
    without.place = WITHOUT;
    host_talk(&bare, &without, turns, 0);
    host_talk(&with, s, turns, releases);
    (void)snprintf(what, sizeof what, "%s under %s", s->argv[0], allocator_name(s->allocator));
    host_compare(&bare, &with, what);
    int status = with.status;
    host_clean(&bare);
    host_clean(&with);
    return status;
}

void host_blocked_same(const struct host_setup *s, long syscall, const char *what)
{
    struct host both[2];
    struct host_setup setup = *s;
    for (int i = 0; i < 2; i++) {
        setup.place = i ? s->place : WITHOUT;
        host_start(&both[i], &setup);
        host_wait_line(&both[i], "ready");
        host_wait_syscall(&both[i], syscall);
        for (int n = 0; i && n < 10; n++)
            host_deliver(&both[i], SIGUSR1, syscall);
        if (i)
            host_wait_log(&both[i], "\"action\":", 1);
        host_say(&both[i], "\n");
        (void)host_end(&both[i]);
    }
    host_compare(&both[0], &both[1], what);
    host_clean(&both[0]);
    host_clean(&both[1]);
}
