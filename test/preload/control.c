/* The control socket: every command, who may give one, where the socket is and when it goes. */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const on_socket[] = {"GIVEBACK_ON=socket:s", NULL}; /* in the host's own folder */
static char answer[20000];

/* A host with a socket, and a connection to it. */
static int start(struct host *h, const char *victim, const char *argument, enum allocator a, enum place p)
{
    const char *argv[] = {victim, argument, NULL};
    char path[340];
    host_start(h, &(struct host_setup){.argv = argv, .allocator = a, .place = p, .env = on_socket});
    host_wait_line(h, "ready");
    (void)snprintf(path, sizeof path, "%s/s", h->dir);
    return client_connect(h, path);
}

START_TEST(test_release_gives_memory_back_and_answers_with_the_record)
{
    struct host h;
    char before[4096], after[4096], label[64], *log;
    enum allocator a = CELL_ALLOCATOR(_i);
    if (!harness_allocator(a, "test_release_gives_memory_back_and_answers_with_the_record"))
        return;
    int fd = start(&h, "hold", NULL, a, CELL_PLACE(_i));
    host_descriptors(&h, before, sizeof before);
    int64_t anon = host_anon(&h);
    client_ask(&h, fd, "{\"do\":\"release\",\"label\":\"by hand\"}", answer, sizeof answer);
    if (a != MIMALLOC && a != TBB) /* these two return nothing of blocks between which others are live */
        ck_assert_int_lt(host_anon(&h), anon - (20 << 20));
    json_string(answer, "label", label, sizeof label);
    ck_assert_str_eq(label, "by hand");
    json_string(answer, "event", label, sizeof label);
    ck_assert_str_eq(label, "socket:s");
    host_wait_log(&h, "\"action\":", 1);
    log = file_text(h.log);
    ck_assert_str_eq(log, answer);
    host_descriptors(&h, after, sizeof after);
    ck_assert_str_eq(before, after);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

START_TEST(test_mark_status_and_what_is_no_command)
{
    static const struct {
        const char *request, *answer;
    } cases[] = {{"{\"do\":\"pause\"}", "{\"ok\":true,\"paused\":true}\n"},
                 {"{\"do\":\"resume\",\"more\":[1]}", "{\"ok\":true,\"paused\":false}\n"},
                 {"release", "{\"error\":\"expected one JSON object a line, like {\\\"do\\\":\\\"release\\\"}\"}\n"},
                 {"{}", "{\"error\":\"\\\"do\\\": expected \\\"release\\\", \\\"mark\\\", \\\"pause\\\", \\\"resume\\\" or \\\"status\\\"\"}\n"},
                 {"{\"do\":\"tight\"}", "{\"error\":\"\\\"do\\\": expected \\\"release\\\", \\\"mark\\\", \\\"pause\\\", \\\"resume\\\" or \\\"status\\\"\"}\n"},
                 {"{\"do\":\"mark\",\"label\":7}", "{\"error\":\"\\\"label\\\": expected a string of at most 63 bytes\"}\n"}};
    struct host h;
    char text[64];
    int fd = start(&h, "idle", NULL, GLIBC, FIRST);
    client_ask(&h, fd, " {\"do\": \"mark\", \"label\": \"\\u00e4\"} ", answer, sizeof answer);
    json_string(answer, "action", text, sizeof text);
    ck_assert_str_eq(text, "mark");
    json_string(answer, "label", text, sizeof text);
    ck_assert_str_eq(text, "\xc3\xa4");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client_ask(&h, fd, cases[i].request, answer, sizeof answer);
        ck_assert_str_eq(answer, cases[i].answer);
    }
    host_release(&h);
    client_ask(&h, fd, "{\"do\":\"status\"}", answer, sizeof answer);
    ck_assert_int_eq(json_number(answer, "pid"), h.pid);
    ck_assert_int_gt(json_number(answer, "anon"), 0);
    ck_assert_int_eq(json_number(answer, "releases"), 1);
    ck_assert_int_eq(json_number(answer, "marks"), 1);
    ck_assert_int_eq(json_number(answer, "backoff"), 1);
    json_string(answer, "last.event", text, sizeof text);
    ck_assert_str_eq(text, "signal:USR1");
    ck_assert_msg(strstr(answer, "{\"event\":\"socket:s\",\"label\":null,\"action\":null,\"count\":1}"), "%s", answer);
    ck_assert_msg(strstr(answer, "\"name\":\"glibc\""), "%s", answer);
    ck_assert_int_eq(host_end(&h), 7 << 8);
    host_clean(&h);
}
END_TEST

START_TEST(test_status_tells_held_and_live)
{
    struct host h;
    if (!harness_allocator(TCMALLOC, "test_status_tells_held_and_live"))
        return;
    int fd = start(&h, "hold", NULL, TCMALLOC, FIRST);
    client_ask(&h, fd, "{\"do\":\"status\"}", answer, sizeof answer);
    char *at = strstr(answer, "\"name\":\"tcmalloc\"");
    ck_assert_msg(at, "%s", answer);
    ck_assert_int_gt(json_number(at, "held"), 40 << 20);
    ck_assert_int_gt(json_number(at, "live"), 1 << 20);
    int64_t apart = host_anon(&h) - json_number(answer, "anon");
    ck_assert_int_lt(llabs(apart), 1 << 20); /* the answer itself takes some pages */
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

START_TEST(test_automatic_events_wait_while_paused)
{
    static const char *const env[] = {"GIVEBACK_ON=socket:s;every:20ms->mark", "GIVEBACK_INTERVAL=0", NULL};
    const char *argv[] = {"idle", NULL};
    struct host h;
    char path[340];
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env});
    host_wait_line(&h, "ready");
    (void)snprintf(path, sizeof path, "%s/s", h.dir);
    int fd = client_connect(&h, path);
    host_wait_log(&h, "every:20ms", 3);
    client_ask(&h, fd, "{\"do\":\"pause\"}", answer, sizeof answer);
    unsigned n = host_count_log(&h, "every:20ms");
    int64_t counted = 0;
    for (unsigned i = 0; i < HARNESS_DEADLINE * 500; i++, harness_look_again()) { /* the periods go on, and are only counted */
        client_ask(&h, fd, "{\"do\":\"status\"}", answer, sizeof answer);
        ck_assert_msg(strstr(answer, "\"paused\":true,\"backoff\":1,\"due\":null"), "%s", answer);
        counted = json_number(strstr(answer, "\"event\":\"every:20ms\""), "count");
        if (counted >= n + 10)
            break;
    }
    ck_assert_int_ge(counted, n + 10);
    ck_assert_uint_eq(host_count_log(&h, "every:20ms"), n);
    client_ask(&h, fd, "{\"do\":\"mark\"}", answer, sizeof answer); /* what somebody asks for is done */
    client_ask(&h, fd, "{\"do\":\"resume\"}", answer, sizeof answer);
    host_wait_log(&h, "every:20ms", n + 2);
    host_record(&h, n + 1, answer, sizeof answer);
    ck_assert_int_ge(json_number(answer, "merged"), 8); /* nothing was lost */
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

/* Eight at once, each gets the record of a release that was made after it had asked; a ninth is told why not. */
START_TEST(test_eight_clients_at_once)
{
    enum { CLIENTS = 8, ROUNDS = 20 };
    struct host h;
    int fd[CLIENTS];
    char path[340];
    unsigned long merged = 0;
    fd[0] = start(&h, "idle", NULL, GLIBC, FIRST);
    (void)snprintf(path, sizeof path, "%s/s", h.dir);
    for (int i = 1; i < CLIENTS; i++)
        fd[i] = client_connect(&h, path);
    client_ask(&h, fd[CLIENTS - 1], "{\"do\":\"mark\"}", answer, sizeof answer); /* by now all are there */
    int ninth = client_connect(&h, path);
    ck_assert(client_line(&h, ninth, answer, sizeof answer));
    ck_assert_str_eq(answer, "{\"error\":\"8 clients are connected already; try again later\"}\n");
    ck_assert(!client_line(&h, ninth, answer, sizeof answer));
    close(ninth);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CLIENTS; i++)
            client_say(fd[i], "{\"do\":\"release\"}\n");
        for (int i = 0; i < CLIENTS; i++) {
            ck_assert(client_line(&h, fd[i], answer, sizeof answer));
            ck_assert_msg(strstr(answer, "\"action\":\"release\""), "%s", answer);
        }
    }
    unsigned records = host_count_log(&h, "\"action\":\"release\"");
    for (unsigned i = 0; i <= records; i++) {
        host_record(&h, i, answer, sizeof answer);
        merged += (unsigned long)json_number(answer, "merged");
    }
    ck_assert_uint_eq(records + merged, CLIENTS * ROUNDS);
    close(fd[0]);
    int again = client_connect(&h, path);
    for (int i = 0; i < HARNESS_DEADLINE * 500; i++) { /* a place is free once the worker has seen that it is */
        client_say(again, "{\"do\":\"mark\"}\n");
        if (client_line(&h, again, answer, sizeof answer) && strstr(answer, "\"mark\""))
            break;
        close(again);
        again = client_connect(&h, path);
    }
    ck_assert_msg(strstr(answer, "\"action\":\"mark\""), "%s", answer);
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

/* "pid 123" on stdout */
static pid_t said_pid(struct host *h, const char *who)
{
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; harness_now() < end; harness_look_again()) {
        char *text = file_text(h->out), *at = strstr(text, who);
        pid_t pid = at && strchr(at, '\n') ? (pid_t)atoi(at + strlen(who)) : 0;
        free(text);
        if (pid)
            return pid;
    }
    host_fail(h, who);
    return 0;
}

/* GIVEBACK_DIR, or giveback in XDG_RUNTIME_DIR: made private; one socket a process, gone with it. */
START_TEST(test_default_place_and_forked_children)
{
    char folder[400], env[440], path[480], child_path[480];
    const char *list[] = {"GIVEBACK_ON=socket", env, NULL}, *argv[] = {"forks", "fork", NULL};
    struct stat st;
    struct host h;
    (void)snprintf(folder, sizeof folder, "%s/scratch/run.%d", harness_build(), (int)getpid());
    (void)snprintf(env, sizeof env, _i ? "XDG_RUNTIME_DIR=%s" : "GIVEBACK_DIR=%s/giveback", folder);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = list});
    host_wait_line(&h, "ready");
    (void)snprintf(path, sizeof path, "%s/giveback/%d.sock", folder, (int)h.pid);
    close(client_connect(&h, path));
    ck_assert(lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600);
    host_say(&h, "\n");
    pid_t child = said_pid(&h, "child ");
    (void)snprintf(child_path, sizeof child_path, "%s/giveback/%d.sock", folder, (int)child);
    int fd = client_connect(&h, child_path);
    client_ask(&h, fd, "{\"do\":\"release\"}", answer, sizeof answer);
    ck_assert_int_eq(json_number(answer, "pid"), child);
    client_ask(&h, fd, "{\"do\":\"status\"}", answer, sizeof answer);
    ck_assert_int_eq(json_number(answer, "releases"), 1);
    fd = client_connect(&h, path);
    client_ask(&h, fd, "{\"do\":\"status\"}", answer, sizeof answer);
    ck_assert_int_eq(json_number(answer, "releases"), 0);
    (void)host_end(&h);
    ck_assert_msg(!file_exists(path) && !file_exists(child_path), "a socket is left after a regular end");
    (void)snprintf(path, sizeof path, "%s/giveback", folder);
    ck_assert(stat(path, &st) == 0 && (st.st_mode & 0777) == 0700);
    ck_assert(rmdir(path) == 0 && rmdir(folder) == 0); /* nothing else was left there either */
    host_clean(&h);
}
END_TEST

/* A socket left by a process that was killed goes when the next host starts there; that of one that lives, and what only looks
 * like one, stays. */
START_TEST(test_stale_sockets_are_cleaned_up)
{
    char folder[400], env[440], path[3][480], other[480];
    const char *list[] = {"GIVEBACK_ON=socket", env, NULL}, *argv[] = {"idle", NULL};
    struct host h[3];
    (void)snprintf(folder, sizeof folder, "%s/scratch/stale.%d", harness_build(), (int)getpid());
    (void)snprintf(env, sizeof env, "GIVEBACK_DIR=%s", folder);
    for (int i = 0; i < 3; i++) {
        host_start(&h[i], &(struct host_setup){.argv = argv, .place = FIRST, .env = list});
        host_wait_line(&h[i], "ready");
        (void)snprintf(path[i], sizeof path[i], "%s/%d.sock", folder, (int)h[i].pid);
        close(client_connect(&h[i], path[i]));
        if (i == 1) {
            host_stop(&h[1]); /* SIGKILL */
            ck_assert_int_eq(client_try(path[1]), -ECONNREFUSED);
            (void)snprintf(other, sizeof other, "%s/999999999.sock", folder);
            FILE *f = fopen(other, "w");
            ck_assert(f && fclose(f) == 0);
        }
    }
    ck_assert(!file_exists(path[1]) && file_exists(other));
    close(client_connect(&h[0], path[0]));
    for (int i = 0; i < 3; i++)
        host_clean(&h[i]);
    for (int i = 0; i < 3; i++)
        (void)unlink(path[i]);
    ck_assert(unlink(other) == 0 && rmdir(folder) == 0);
}
END_TEST

Suite *suite_control(void)
{
    Suite *s = suite_create("control");
    TCase *t = tcase_create("control");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_release_gives_memory_back_and_answers_with_the_record, 0, CELLS);
    tcase_add_test(t, test_mark_status_and_what_is_no_command);
    tcase_add_test(t, test_status_tells_held_and_live);
    tcase_add_test(t, test_automatic_events_wait_while_paused);
    tcase_add_test(t, test_eight_clients_at_once);
    tcase_add_loop_test(t, test_default_place_and_forked_children, 0, 2);
    tcase_add_test(t, test_stale_sockets_are_cleaned_up);
    suite_add_tcase(s, t);
    return s;
}
