/* The control socket under hosts that give things up, clients that misbehave, other users, and what stands in its place. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const on_socket[] = {"GIVEBACK_ON=socket:s", NULL}; /* in the host's own folder */
static char answer[20000], path[400];

/* A host with a socket, and a connection to it. */
static int start_logged(struct host *h, const char *const *argv, const char *log)
{
    host_start(h, &(struct host_setup){.argv = argv, .place = FIRST, .env = on_socket, .log = log});
    host_wait_line(h, "ready");
    (void)snprintf(path, sizeof path, "%s/s", h->dir);
    return client_connect(h, path);
}

static int start(struct host *h, const char *const *argv)
{
    return start_logged(h, argv, NULL);
}

static const char *const idle[] = {"idle", NULL};

static void answers(struct host *h, int fd)
{
    client_ask(h, fd, "{\"do\":\"release\"}", answer, sizeof answer);
    ck_assert_msg(strstr(answer, "\"action\":\"release\""), "%s", answer);
}

START_TEST(test_clients_that_say_nonsense)
{
    static char junk[1 << 20];
    struct host h;
    int fd = start(&h, idle), half = client_connect(&h, path), other = client_connect(&h, path);
    client_say(half, "{\"do\":\"rel"); /* the rest never comes */
    ck_assert_int_eq(send(other, "\0\0\xff\n{\"do\":\"mark\"}", 17, MSG_NOSIGNAL), 17);
    ck_assert(shutdown(other, SHUT_WR) == 0); /* nor does the end of this line, but it is one */
    ck_assert(client_line(&h, other, answer, sizeof answer) && strstr(answer, "\"error\":"));
    ck_assert(client_line(&h, other, answer, sizeof answer) && strstr(answer, "\"action\":\"mark\""));
    ck_assert(!client_line(&h, other, answer, sizeof answer));
    close(other);
    other = client_connect(&h, path);
    memset(junk, 'x', sizeof junk);
    for (size_t n = 0; n < sizeof junk;) { /* 1 MB in one line: refused after 4096 bytes, and closed */
        ssize_t sent = send(other, junk, sizeof junk - n, MSG_NOSIGNAL);
        if (sent < 0)
            break;
        n += (size_t)sent;
    }
    ck_assert(client_line(&h, other, answer, sizeof answer));
    ck_assert_str_eq(answer, "{\"error\":\"a request is longer than 4096 bytes\"}\n");
    ck_assert(!client_line(&h, other, answer, sizeof answer));
    memset(junk, ' ', 4095); /* the longest that is taken */
    memcpy(junk, "{\"do\":\"mark\"}", 13);
    ck_assert(send(fd, junk, 4095, MSG_NOSIGNAL) == 4095 && send(fd, "\n", 1, MSG_NOSIGNAL) == 1);
    ck_assert(client_line(&h, fd, answer, sizeof answer) && strstr(answer, "\"action\":\"mark\""));
    for (int i = 0; i < 50; i++) { /* gone before the record: no SIGPIPE, and the next one is served */
        int hasty = client_connect(&h, path);
        client_say(hasty, "{\"do\":\"release\"}\n{\"do\":\"release\"}\n");
        close(hasty);
    }
    answers(&h, fd);
    host_worker_rests(&h, "after nonsense");
    client_say(half, "ease\"}\n");
    ck_assert(client_line(&h, half, answer, sizeof answer) && strstr(answer, "\"action\":\"release\""));
    ck_assert_int_eq(host_end(&h), 7 << 8);
    host_clean(&h);
}
END_TEST

/* It asks and asks and takes no answer: the others are served, nothing spins, and it is dropped after ten seconds. */
START_TEST(test_client_that_never_reads_is_dropped)
{
    struct host h;
    static const char request[] = "{\"do\":\"status\"}\n";
    int fd = start(&h, idle), deaf = client_connect(&h, path);
    size_t sent = 0;
    ck_assert_int_eq(fcntl(deaf, F_SETFL, O_NONBLOCK), 0);
    for (int64_t quiet = harness_now(); harness_now() - quiet < 500; harness_look_again())
        while (send(deaf, request, sizeof request - 1, MSG_NOSIGNAL) > 0) {
            sent++;
            quiet = harness_now();
        }
    ck_assert_uint_gt(sent, 100);
    answers(&h, fd);
    host_worker_rests(&h, "while a client does not read");
    int64_t start_of_it = harness_now();
    while (send(deaf, request, 1, MSG_NOSIGNAL) > 0 || errno == EAGAIN) {
        if (harness_now() - start_of_it > HARNESS_DEADLINE * 1000)
            host_fail(&h, "waiting until a client that does not read is dropped");
        harness_look_again();
    }
    ck_assert_int_eq(errno, EPIPE);
    answers(&h, fd);
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

/* Requests as fast as they can be written: each is answered, others are served meanwhile, nothing grows and nothing goes on. */
START_TEST(test_storm_of_requests)
{
    enum { EACH = 20000 };
    struct host h;
    int fd = start(&h, idle), storm = client_connect(&h, path);
    answers(&h, fd);
    int64_t anon = host_anon(&h);
    (void)fflush(NULL);
    pid_t writer = fork();
    if (writer == 0) {
        for (int i = 0; i < EACH; i++)
            if (send(storm, i % 100 ? "{\"do\":\"resume\"}\n" : "{\"do\":\"mark\"}\n", i % 100 ? 16 : 14, MSG_NOSIGNAL) < 0)
                _exit(1);
        _exit(0);
    }
    unsigned oks = 0, marks = 0;
    while (oks + marks < EACH && client_line(&h, storm, answer, sizeof answer)) {
        strstr(answer, "\"ok\"") ? oks++ : marks++;
        if ((oks + marks) % 2000 == 0)
            answers(&h, fd);
    }
    int status;
    ck_assert(waitpid(writer, &status, 0) == writer && status == 0);
    ck_assert_uint_eq(marks, EACH / 100);
    ck_assert_uint_eq(oks, EACH - EACH / 100);
    host_worker_rests(&h, "after a storm of requests");
    ck_assert_int_lt(host_anon(&h), anon + (1 << 20));
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

/* Not one number is left for a connection, in any table: it waits in the backlog, nothing spins, and it is served afterwards. */
START_TEST(test_connection_that_finds_no_free_descriptor)
{
    struct host h;
    struct rlimit before;
    int fd = start(&h, idle);
    answers(&h, fd);
    ck_assert_int_eq(prlimit(h.pid, RLIMIT_NOFILE, &(struct rlimit){3, 1000}, &before), 0);
    int second = client_connect(&h, path);
    client_say(second, "{\"do\":\"mark\"}\n");
    host_worker_rests(&h, "with a connection that it cannot take");
    ck_assert_int_eq(prlimit(h.pid, RLIMIT_NOFILE, &(struct rlimit){900, 1000}, NULL), 0);
    ck_assert(client_line(&h, second, answer, sizeof answer) && strstr(answer, "\"action\":\"mark\""));
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

static const char *const gives_up[] = {"root", "user", "descriptors", "all"};

START_TEST(test_host_that_gives_up_its_root_its_user_or_its_descriptors)
{
    const char *argv[] = {"drops", gives_up[_i], NULL};
    struct host bare, h;
    if (getuid() != 0 && _i < 2) {
        harness_skip("test_host_that_gives_up_its_root_its_user_or_its_descriptors", "not root");
        return;
    }
    host_start(&bare, &(struct host_setup){.argv = argv});
    host_wait_line(&bare, "ready");
    host_say(&bare, "\n");
    (void)host_end(&bare);
    int fd = start_logged(&h, argv, "none"); /* a file could not be opened any more in another root or as another user */
    answers(&h, fd);
    host_say(&h, "\n");
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000; !strstr(file_text(h.out), "dropped"); harness_look_again())
        if (harness_now() > end)
            host_fail(&h, "waiting for the host to give something up");
    answers(&h, fd);
    close(fd);
    fd = client_connect(&h, path); /* root may, whatever the host is now */
    answers(&h, fd);
    host_worker_rests(&h, gives_up[_i]);
    (void)host_end(&h);
    host_compare(&bare, &h, gives_up[_i]);
    host_clean(&bare);
    if (_i != 1) /* another user may not remove what it made when it was root */
        ck_assert(!file_exists(path));
    host_clean(&h);
}
END_TEST

/* A filter that kills for openat and ppoll, on every thread: ours is gone by then, its socket too, and clients are told. */
START_TEST(test_host_that_restricts_itself_is_left_alone)
{
    const char *argv[] = {"drops", "calls", NULL};
    struct host bare, h;
    host_start(&bare, &(struct host_setup){.argv = argv});
    host_wait_line(&bare, "ready");
    host_say(&bare, "\n");
    host_wait_line(&bare, "dropped 0");
    (void)host_end(&bare);
    int fd = start(&h, argv);
    answers(&h, fd);
    host_say(&h, "\n");
    host_wait_line(&h, "dropped 0");
    ck_assert(!client_line(&h, fd, answer, sizeof answer));
    ck_assert_int_eq(client_try(path), -ENOENT);
    ck_assert_uint_eq(host_threads(&h), 1);
    (void)host_end(&h);
    host_compare(&bare, &h, "calls");
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

static const char *const close_ways[] = {"loop", "range", "dup2"};

START_TEST(test_host_that_closes_and_reuses_every_number)
{
    const char *argv[] = {"closefds", close_ways[_i], NULL};
    struct host h;
    int fd = start(&h, argv);
    for (unsigned i = 1; i <= 2; i++) {
        host_wait_lines(&h, "ready", i);
        answers(&h, fd);
        answers(&h, client_connect(&h, path));
        host_say(&h, "\n");
    }
    ck_assert_msg(host_end(&h) == 0, "a file of the host's was touched: %s", file_text(h.out));
    ck_assert(!file_exists(path));
    host_stop(&h);
    (void)snprintf(path, sizeof path, "rm -f %s/file*", h.dir);
    ck_assert_int_eq(system(path), 0);
    host_clean(&h);
}
END_TEST

/* unshare needs the worker gone; the socket is back with the next one. exec: a new program under the same pid makes it anew. */
START_TEST(test_socket_comes_back_after_unshare_and_exec)
{
    char target[400];
    const char *namespaces[] = {"namespaces", NULL}, *execs[] = {"execs", "main", target, NULL};
    struct host h;
    int fd;
    (void)snprintf(target, sizeof target, "%s", harness_victim("idle"));
    if (_i == 0) {
        fd = start(&h, namespaces);
        host_say(&h, "files\n");
        host_wait_line(&h, "files: 0 0");
    } else {
        host_start(&h, &(struct host_setup){.argv = execs, .place = FIRST, .env = on_socket});
        host_wait_line(&h, "before");
        (void)snprintf(path, sizeof path, "%s/s", h.dir);
        fd = client_connect(&h, path);
        host_say(&h, "\n");
        host_wait_line(&h, "ready");
    }
    ck_assert(!client_line(&h, fd, answer, sizeof answer)); /* it sees the end of the old one */
    for (int64_t end = harness_now() + HARNESS_DEADLINE * 1000;; harness_look_again()) {
        fd = client_connect(&h, path);
        client_say(fd, "{\"do\":\"release\"}\n");
        if (client_line(&h, fd, answer, sizeof answer))
            break;
        if (harness_now() > end)
            host_fail(&h, "waiting for an answer of the new worker");
    }
    ck_assert_msg(strstr(answer, "\"action\":\"release\""), "%s", answer);
    (void)host_end(&h);
    ck_assert(!file_exists(path));
    host_clean(&h);
}
END_TEST

START_TEST(test_host_that_overwrites_its_environment)
{
    const char *argv[] = {"scribble", "title", NULL};
    struct host h;
    answers(&h, start(&h, argv));
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

/* What stands at the place already, and what is said. A listener of somebody else's is not taken over. */
static const struct {
    const char *what, *said;
} planted[] = {{"link", "socket:s: is no socket"}, {"file", "socket:s: is no socket"}, {"fifo", "socket:s: is no socket"},
               {"socket", "socket:s: another process listens there"}, {"foreign", "socket:s: belongs to another user"}};
static int listener = -1;

/* In the child of host_start, in its folder: the files that the host will find. */
static void plant(void)
{
    const char *what = getenv("PLANT");
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "s"};
    if (strcmp(what, "link") == 0 && symlink("elsewhere", "s") != 0)
        _exit(90);
    if (strcmp(what, "file") == 0 && open("s", O_CREAT | O_WRONLY, 0600) < 0)
        _exit(91);
    if (strcmp(what, "fifo") == 0 && mkfifo("s", 0600) != 0)
        _exit(92);
    if ((strcmp(what, "socket") == 0 || strcmp(what, "foreign") == 0) &&
        (bind(listener, (struct sockaddr *)&a, sizeof a) != 0 || listen(listener, 8) != 0))
        _exit(93);
    if (strcmp(what, "foreign") == 0 && chown("s", 65534, 65534) != 0)
        _exit(94);
}

START_TEST(test_what_stands_in_its_place_is_left_alone)
{
    struct host h;
    struct stat before, after;
    if (getuid() != 0 && strcmp(planted[_i].what, "foreign") == 0) {
        harness_skip("test_what_stands_in_its_place_is_left_alone", "not root");
        return;
    }
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(setenv("PLANT", planted[_i].what, 1), 0);
    host_start(&h, &(struct host_setup){.argv = idle, .place = FIRST, .env = on_socket, .before_exec = plant});
    host_wait_line(&h, "ready");
    (void)snprintf(path, sizeof path, "%s/s", h.dir);
    ck_assert_int_eq(lstat(path, &before), 0);
    host_wait_log(&h, planted[_i].said, 1);
    ck_assert_uint_eq(host_notices(&h), 1);
    host_release(&h); /* all else works */
    ck_assert_int_eq(host_end(&h), 7 << 8);
    ck_assert_int_eq(lstat(path, &after), 0);
    ck_assert(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
    close(listener);
    host_clean(&h);
}
END_TEST

/* A folder that another user could reach into, or has put there. */
static const struct {
    mode_t mode;
    uid_t owner;
    const char *said;
} folders[] = {{0777, 0, "socket: its folder may be written by others"}, {0700, 65534, "socket: its folder belongs to another user"}};

START_TEST(test_folder_that_others_could_change_is_refused)
{
    char folder[400], env[440];
    const char *list[] = {"GIVEBACK_ON=socket", env, NULL};
    struct host h;
    if (getuid() != 0) {
        harness_skip("test_folder_that_others_could_change_is_refused", "not root");
        return;
    }
    (void)snprintf(folder, sizeof folder, "%s/scratch/folder.%d", harness_build(), (int)getpid());
    (void)snprintf(env, sizeof env, "GIVEBACK_DIR=%s", folder);
    ck_assert(mkdir(folder, 0700) == 0 && chmod(folder, folders[_i].mode) == 0 && chown(folder, folders[_i].owner, 0) == 0);
    host_start(&h, &(struct host_setup){.argv = idle, .place = FIRST, .env = list});
    host_wait_line(&h, "ready");
    host_wait_log(&h, folders[_i].said, 1);
    ck_assert_int_eq(rmdir(folder), 0);
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

/* What another user's process gets: 0 for an answer that does something, else why not. */
static int ask_as_other(uid_t uid)
{
    int status;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char line[200] = "";
        if (setgroups(0, NULL) || setgid(65534) || setuid(uid))
            _exit(100);
        int fd = client_try(path);
        if (fd < 0)
            _exit(-fd);
        (void)send(fd, "{\"do\":\"release\"}\n", 17, MSG_NOSIGNAL);
        ssize_t n = recv(fd, line, sizeof line - 1, 0);
        _exit(n <= 0 ? 101 : strstr(line, "only root and the user") ? 102 : strstr(line, "\"action\":") ? 0 : 103);
    }
    ck_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(test_other_users_are_refused)
{
    static const char *const drops[] = {"drops", "user", NULL};
    struct host h;
    if (getuid() != 0) {
        harness_skip("test_other_users_are_refused", "not root");
        return;
    }
    int fd = start(&h, drops);
    ck_assert_int_eq(ask_as_other(65534), EACCES); /* the file's mode */
    ck_assert_int_eq(chmod(path, 0777), 0);
    ck_assert_int_eq(ask_as_other(65534), 102); /* and the worker itself */
    ck_assert_int_eq(ask_as_other(0), 0);
    ck_assert_uint_eq(host_records(&h), 1);
    host_say(&h, "\n");
    host_wait_line(&h, "dropped 0");
    ck_assert_int_eq(ask_as_other(65534), 0); /* whom the process runs as now */
    ck_assert_int_eq(ask_as_other(65533), 102);
    answers(&h, fd);
    (void)host_end(&h);
    host_clean(&h);
}
END_TEST

Suite *suite_control_hostile(void)
{
    Suite *s = suite_create("control_hostile");
    TCase *t = tcase_create("control_hostile");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_test(t, test_clients_that_say_nonsense);
    tcase_add_test(t, test_client_that_never_reads_is_dropped);
    tcase_add_test(t, test_storm_of_requests);
    tcase_add_test(t, test_connection_that_finds_no_free_descriptor);
    tcase_add_loop_test(t, test_host_that_gives_up_its_root_its_user_or_its_descriptors, 0, 4);
    tcase_add_test(t, test_host_that_restricts_itself_is_left_alone);
    tcase_add_loop_test(t, test_host_that_closes_and_reuses_every_number, 0, 3);
    tcase_add_loop_test(t, test_socket_comes_back_after_unshare_and_exec, 0, 2);
    tcase_add_test(t, test_host_that_overwrites_its_environment);
    tcase_add_loop_test(t, test_what_stands_in_its_place_is_left_alone, 0, sizeof planted / sizeof *planted);
    tcase_add_loop_test(t, test_folder_that_others_could_change_is_refused, 0, 2);
    tcase_add_test(t, test_other_users_are_refused);
    suite_add_tcase(s, t);
    return s;
}
