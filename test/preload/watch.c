/* Events that the process itself produces: quiet after growth, idleness, a size of RssAnon, a period. Nobody sends a
 * signal here. */
#include "harness.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

static void moody(struct host *h, const char *on, const char *interval, enum allocator a, enum place p)
{
    static char event[200], least[64];
    const char *argv[] = {"moody", NULL}, *env[] = {event, least, NULL};

    (void)snprintf(event, sizeof event, "GIVEBACK_ON=%s", on);
    (void)snprintf(least, sizeof least, "GIVEBACK_INTERVAL=%s", interval);
    host_start(h, &(struct host_setup){.argv = argv, .allocator = a, .place = p, .env = env});
    host_wait_line(h, "ready");
}

/* One command, done when it is answered. */
static void tell(struct host *h, const char *command)
{
    char line[80], *out = file_text(h->out);
    unsigned before = 0;

    (void)snprintf(line, sizeof line, "%s: 0\n", command);
    for (char *at = out; (at = strstr(at, line)); at++)
        before++;
    free(out);
    (void)snprintf(line, sizeof line, "%s\n", command);
    host_say(h, line);
    (void)snprintf(line, sizeof line, "%s: 0", command);
    host_wait_lines(h, line, before + 1);
}

static void record(struct host *h, unsigned n, const char *event, char *buffer, size_t size)
{
    char name[80];

    host_record(h, n, buffer, size);
    json_string(buffer, "event", name, sizeof name);
    ck_assert_str_eq(name, event);
}

/* Nothing more may come: looks for as long as something wrong would take, many times over. */
static void no_further(struct host *h, unsigned records, int ms)
{
    for (int64_t end = harness_now() + ms; harness_now() < end; harness_look_again())
        ck_assert_uint_eq(host_records(h), records);
}

static void end(struct host *h)
{
    ck_assert_int_eq(host_end(h), 0);
    ck_assert_uint_eq(host_notices(h), 0);
    host_clean(h);
}

START_TEST(test_settle_releases_once_after_growth_and_quiet)
{
    struct host h;
    char text[8192];
    enum allocator a = CELL_ALLOCATOR(_i);
    if (!harness_allocator(a, "test_settle_releases_once_after_growth_and_quiet"))
        return;
    moody(&h, "settle:300ms", "1s", a, WITHOUT);
    tell(&h, "hold 100");
    int64_t bare = host_anon(&h);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
    moody(&h, "settle:300ms", "1s", a, CELL_PLACE(_i));
    tell(&h, "hold 100");
    /* mimalloc's heap belongs to the thread that is asleep, and TBB gives back whole regions only, which a live block in
     * sixteen prevents: under 1 MiB is no line. */
    bool gives = a != MIMALLOC && a != TBB;
    if (gives) {
        record(&h, 0, "settle:300ms", text, sizeof text);
        ck_assert_msg(host_anon(&h) < bare / 2, "RssAnon %lld, without us %lld", (long long)host_anon(&h), (long long)bare);
    }
    tell(&h, "hold 10");
    no_further(&h, gives, 1000);
    end(&h);
}
END_TEST

START_TEST(test_settle_leaves_a_small_and_a_busy_process_in_peace)
{
    struct host h;
    char text[8192];

    moody(&h, "settle:300ms", "1s", GLIBC, FIRST);
    tell(&h, "hold 40");
    no_further(&h, 0, 1200);
    host_say(&h, "hold 120\nwork 1500\n"); /* grown, but not idle */
    host_wait_line(&h, "hold 120: 0");
    no_further(&h, 0, 1000);
    record(&h, 0, "settle:300ms", text, sizeof text);
    tell(&h, "hold 200");
    no_further(&h, 1, 1500); /* not twice what went back: a minute of quiet is needed */
    tell(&h, "hold 400");
    record(&h, 1, "settle:300ms", text, sizeof text); /* but a new phase is like the first */
    end(&h);
}
END_TEST

static void on_one_processor(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0) /* the first that we may use */
            return;
        CPU_CLR(cpu, &one);
    }
}

static void last_on_one_processor(void)
{
    on_one_processor();
    if (setpriority(PRIO_PROCESS, 0, 19) != 0)
        _exit(99);
}

static pid_t hog(void)
{
    pid_t child = fork();

    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        on_one_processor();
        for (;;)
            ;
    }
    return child;
}

/* It computes, but hardly gets a processor: that is no rest. */
START_TEST(test_settle_takes_waiting_for_a_processor_for_work)
{
    struct host h;
    const char *argv[] = {"moody", NULL}, *env[] = {"GIVEBACK_ON=settle:500ms", NULL};

    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .before_exec = last_on_one_processor});
    host_say(&h, "hold 120\nwork 600000\n");
    host_wait_line(&h, "hold 120: 0");
    pid_t hogs[] = {hog(), hog()};
    no_further(&h, 0, 6000);
    for (int i = 0; i < 2; i++) {
        kill(hogs[i], SIGKILL);
        waitpid(hogs[i], NULL, 0);
    }
    host_stop(&h);
    host_clean(&h);
}
END_TEST

/* A vLLM worker that waits has a dozen event loops with timers of 10 ms: 1 % of a core and a little more. */
START_TEST(test_settle_takes_a_hum_for_quiet)
{
    struct host h;
    char text[8192];

    moody(&h, "settle:1s", "1s", GLIBC, FIRST);
    tell(&h, "hum 120");
    tell(&h, "hold 100");
    record(&h, 0, "settle:1s", text, sizeof text);
    end(&h);
}
END_TEST

START_TEST(test_idle_releases_once_in_a_spell)
{
    struct host h;
    char text[8192];

    moody(&h, "idle:300ms->mark", "0", GLIBC, FIRST);
    record(&h, 0, "idle:300ms", text, sizeof text);
    no_further(&h, 1, 1500);
    tell(&h, "work 600");
    record(&h, 1, "idle:300ms", text, sizeof text);
    no_further(&h, 2, 1000);
    end(&h);
}
END_TEST

START_TEST(test_rss_fires_on_the_way_up_and_again_after_a_fall)
{
    struct host h;
    char text[8192];

    moody(&h, "rss:100M->mark", "0", GLIBC, FIRST);
    tell(&h, "live 80");
    no_further(&h, 0, 1000);
    tell(&h, "live 40");
    record(&h, 0, "rss:100M", text, sizeof text);
    ck_assert_int_ge(json_number(text, "before.anon"), 100 * MIB);
    no_further(&h, 1, 1000);
    tell(&h, "drop");
    while (host_anon(&h) > 80 * MIB) /* glibc gives the top back by itself */
        harness_look_again();
    no_further(&h, 1, 1200);
    tell(&h, "live 120");
    record(&h, 1, "rss:100M", text, sizeof text);
    end(&h);
}
END_TEST

/* A moment of RFC 3339 in milliseconds of its day. */
static int64_t time_of_day(const char *text)
{
    char time[64];
    int hour, minute, second, ms;

    json_string(text, "time", time, sizeof time);
    ck_assert_int_eq(sscanf(time, "%*d-%*d-%*dT%d:%d:%d.%dZ", &hour, &minute, &second, &ms), 4);
    return ((hour * 60 + minute) * 60 + second) * 1000 + ms;
}

/* From the first record to the second, over midnight too. */
static int64_t time_between(const char *first, const char *second)
{
    return (time_of_day(second) - time_of_day(first) + 86400000) % 86400000;
}

/* However late a record is, no more periods than have passed since the start can have been told. */
START_TEST(test_every_is_periodic)
{
    struct host h;
    char text[8192], label[32];
    int64_t start = harness_now();

    moody(&h, "beat=every:200ms->mark", "0", GLIBC, FIRST);
    for (unsigned n = 0; n < 5; n++) {
        record(&h, n, "every:200ms", text, sizeof text);
        ck_assert_int_le((int64_t)host_records(&h), (harness_now() - start) / 200);
        json_string(text, "label", label, sizeof label);
        ck_assert_str_eq(label, "beat");
    }
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

/* A process that takes everything back at once is asked ever more seldom. The gaps can be longer on a loaded machine, never
 * shorter. */
START_TEST(test_automatic_releases_back_off_while_everything_comes_back)
{
    struct host h;
    char text[2][8192];

    if (!harness_allocator(TCMALLOC_MINIMAL, "test_automatic_releases_back_off_while_everything_comes_back"))
        return;
    moody(&h, "every:100ms", "100ms", TCMALLOC_MINIMAL, FIRST);
    host_say(&h, "churn 8000\n");
    for (unsigned n = 0; n < 5; n++)
        record(&h, n, "every:100ms", text[n % 2], sizeof *text);
    ck_assert_int_ge(time_between(text[1], text[0]), 400); /* the factor is 8 by then; 4 where one met little to give back */
    host_release(&h); /* somebody who asks is obeyed at once */
    host_stop(&h);
    host_clean(&h);
}
END_TEST

/* Events that come before the interval is over wait for its end; none is lost. */
START_TEST(test_interval_delays_what_nobody_asked_for)
{
    struct host h;
    char text[2][8192];

    moody(&h, "rss:50M;rss:160M", "2s", GLIBC, FIRST);
    tell(&h, "hold 100");
    record(&h, 0, "rss:50M", text[0], sizeof *text);
    tell(&h, "hold 200");
    record(&h, 1, "rss:160M", text[1], sizeof *text);
    ck_assert_int_ge(time_between(text[0], text[1]), 1990);
    end(&h);
}
END_TEST

/* No thread for a process that ends at once, and none for one that calls exec: a filter kills the first that makes one. */
static void forbid_threads(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(99);
}

START_TEST(test_short_processes_have_no_thread)
{
    static const char *const env[] = {"GIVEBACK_ON=settle;idle:1s;every:1s", NULL};
    static const char *const argv[][4] = {
        {"/bin/true", NULL}, {"/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true; done; exec /bin/echo done", NULL}};
    struct host bare, h;

    for (int i = 0; i < 2; i++) {
        host_start(&bare, &(struct host_setup){.argv = argv[i], .before_exec = forbid_threads});
        (void)host_end(&bare);
        host_start(&h, &(struct host_setup){.argv = argv[i], .place = FIRST, .env = env, .before_exec = forbid_threads});
        (void)host_end(&h);
        host_compare(&bare, &h, argv[i][0]);
        host_clean(&bare);
        host_clean(&h);
    }
}
END_TEST

/* The child of a process with a worker has one of its own, whose events are its own. */
START_TEST(test_forked_child_is_watched_too)
{
    struct host h;
    char text[8192];
    long child = 0;

    moody(&h, "settle:300ms", "1s", GLIBC, FIRST);
    host_wait_worker(&h, true);
    host_say(&h, "fork\n");
    for (int64_t until = harness_now() + HARNESS_DEADLINE * 1000; !child; harness_look_again()) {
        char *out = file_text(h.out);
        (void)sscanf(out, "ready\nchild %ld\nfork: 0", &child);
        free(out);
        ck_assert_msg(harness_now() < until, "no child");
    }
    host_say(&h, "hold 100\n");
    record(&h, 0, "settle:300ms", text, sizeof text);
    ck_assert_int_eq(json_number(text, "pid"), child);
    ck_assert_int_eq(host_end(&h), 0); /* the child's input ends with its parent's */
    host_clean(&h);
}
END_TEST

/* The worker is there, and is in nobody's way. */
START_TEST(test_watched_process_restricts_itself)
{
    struct host h;

    moody(&h, "settle:300ms;every:300ms->mark", "1s", GLIBC, FIRST);
    host_wait_worker(&h, true);
    tell(&h, "seccomp"); /* kills whoever opens a file, as the worker does for each record */
    host_wait_worker(&h, false);
    tell(&h, "hold 100");
    tell(&h, "work 700");
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

START_TEST(test_watched_process_only_asks_for_a_restriction)
{
    struct host h;

    moody(&h, "every:100ms->mark", "0", GLIBC, FIRST);
    host_wait_worker(&h, true);
    tell(&h, "probe"); /* fails, and nothing is restricted */
    host_wait_log(&h, "every:100ms", host_count_log(&h, "every:100ms") + 2);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

START_TEST(test_watched_process_enters_a_namespace)
{
    struct host h;

    moody(&h, "every:100ms->mark", "0", GLIBC, WITHOUT);
    tell(&h, "user");
    host_stop(&h);
    host_clean(&h);
    moody(&h, "every:100ms->mark", "0", GLIBC, FIRST);
    host_wait_worker(&h, true);
    tell(&h, "user");
    host_wait_log(&h, "every:100ms", host_count_log(&h, "every:100ms") + 2); /* and it is watched again */
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

static int64_t switches_of_worker(const struct host *h)
{
    static const char key[] = "\nvoluntary_ctxt_switches:";
    char path[80];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)h->pid, (int)host_worker(h));
    char *text = file_text(path), *at = strstr(text, key);
    int64_t n = at ? strtoll(at + sizeof key - 1, NULL, 10) : -1;
    free(text);
    return n;
}

/* An idle process is woken twice a second, whatever number of sampled events it has. */
START_TEST(test_idle_process_is_hardly_woken)
{
    struct host h;

    moody(&h, "settle;idle:1h;rss:10G;idle:2h;rss:20G", "1s", GLIBC, FIRST);
    host_wait_worker(&h, true);
    no_further(&h, 0, 1000);
    int64_t start = harness_now(), from = switches_of_worker(&h);
    no_further(&h, 0, 4000);
    int64_t n = switches_of_worker(&h) - from, ms = harness_now() - start;
    ck_assert_msg(from > 0 && n <= ms * 3 / 1000 + 2, "woken %lld times in %lld ms", (long long)n, (long long)ms);
    end(&h);
}
END_TEST

Suite *suite_watch(void)
{
    Suite *s = suite_create("watch");
    TCase *t = tcase_create("watch");

    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_settle_releases_once_after_growth_and_quiet, 0, CELLS);
    tcase_add_test(t, test_settle_leaves_a_small_and_a_busy_process_in_peace);
    tcase_add_test(t, test_settle_takes_waiting_for_a_processor_for_work);
    tcase_add_test(t, test_settle_takes_a_hum_for_quiet);
    tcase_add_test(t, test_idle_releases_once_in_a_spell);
    tcase_add_test(t, test_rss_fires_on_the_way_up_and_again_after_a_fall);
    tcase_add_test(t, test_every_is_periodic);
    tcase_add_test(t, test_automatic_releases_back_off_while_everything_comes_back);
    tcase_add_test(t, test_interval_delays_what_nobody_asked_for);
    tcase_add_test(t, test_short_processes_have_no_thread);
    tcase_add_test(t, test_forked_child_is_watched_too);
    tcase_add_test(t, test_watched_process_restricts_itself);
    tcase_add_test(t, test_watched_process_only_asks_for_a_restriction);
    tcase_add_test(t, test_watched_process_enters_a_namespace);
    tcase_add_test(t, test_idle_process_is_hardly_woken);
    suite_add_tcase(s, t);
    return s;
}
