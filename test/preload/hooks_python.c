/* Events at the ends of Python functions: the memory is back before the caller goes on, and the program is what it was. */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define PYTHON "/usr/bin/python3"
#define EVERY_KIND                                                                                                                \
    "GIVEBACK_ON=exit:py:hooked:add;exit:py:hooked:down;exit:py:hooked:fail;exit:py:hooked:later;exit:py:hooked:older;"           \
    "exit:py:hooked:items;exit:py:hooked:steps;exit:py:hooked:cached;exit:py:hooked:kind;exit:py:hooked:Base.must;"               \
    "exit:py:hooked:Base.method;exit:py:hooked:Base.of_class;enter:py:hooked:Base.static;exit:py:hooked:Derived.Inner.deep;"      \
    "exit:py:hooked:Base.length;exit:py:hooked:Derived.method"
#define IN_THREADS                                                                                                                \
    "GIVEBACK_ON=exit:py:hooked:down;enter:py:hooked:add->mark;exit:py:hooked:forks;exit:py:hooked:alone;exit:py:hooked:leave"

static bool python_is_here(const char *name)
{
    if (access(PYTHON, X_OK) == 0)
        return true;
    harness_skip(name, "no " PYTHON);
    return false;
}

/* What the memory victim says after "call" (the second number) or "later". */
static long said(const struct host *h, const char *word)
{
    char *out = file_text(h->out), *at = strstr(out, word);
    ck_assert_msg(at != NULL, "no \"%s\" in %s", word, out);
    at += strlen(word);
    if (strcmp(word, "call") == 0)
        (void)strtol(at, &at, 10);
    long kib = strtol(at, NULL, 10);
    free(out);
    return kib;
}

/* One run of the memory victim to its end; with a signal at "ready" or not. */
static void memory_run(struct host *h, enum allocator a, enum place p, const char *const *more, const char *on, bool ask)
{
    static char path[300];
    const char *argv[6] = {PYTHON, path}, *env[] = {on, NULL};
    for (int i = 0; more[i]; i++)
        argv[2 + i] = more[i];
    (void)snprintf(path, sizeof path, "%s", harness_victim("hooks_memory.py"));
    host_start(h, &(struct host_setup){.argv = argv, .allocator = a, .place = p, .env = on ? env : NULL});
    host_wait_line(h, "ready");
    if (ask)
        host_release(h);
    host_say(h, "\n");
    ck_assert_int_eq(host_end(h), 0);
}

START_TEST(test_memory_is_back_before_the_caller_goes_on)
{
    static const char *const blocks[ALLOCATORS] = {"100000", "1000000", "1000000", "100000", "1000000", "1000000"};
    enum allocator a = CELL_ALLOCATOR(_i);
    const char *more[] = {blocks[a], NULL};
    char record[5000], text[100];
    struct host bare, with;
    if (!harness_allocator(a, "test_memory_is_back_before_the_caller_goes_on") || !python_is_here("test_memory_is_back_before_the_caller_goes_on"))
        return;
    memory_run(&bare, a, WITHOUT, more, NULL, false);
    memory_run(&with, a, CELL_PLACE(_i), more, "GIVEBACK_ON=load is done=exit:py:hooked:load", false);
    long kept = said(&bare, "call"), left = said(&with, "call");
    ck_assert_msg(left + 40 * 1024 < kept, "%s: %ld KiB after the call, %ld without us", allocator_name(a), left, kept);
    ck_assert_uint_eq(host_records(&with), 1);
    host_record(&with, 0, record, sizeof record);
    json_string(record, "label", text, sizeof text);
    ck_assert_str_eq(text, "load is done");
    json_string(record, "event", text, sizeof text);
    ck_assert_str_eq(text, "exit:py:hooked:load");
    ck_assert_int_lt(labs((long)(json_number(record, "after.anon") >> 10) - left), 1024);
    host_clean(&bare);
    host_clean(&with);
}
END_TEST

/* What only the owning thread can empty is empty: a signal's release leaves so much more behind. */
static const struct {
    enum allocator allocator;
    const char *block;
    long kib;
} owned[] = {{TCMALLOC_MINIMAL, "8000", 4096}, {TCMALLOC, "8000", 4096}, {JEMALLOC, "30000", 256}, {MIMALLOC, "30000", 16384}};

START_TEST(test_caches_of_the_thread_itself_are_emptied)
{
    enum allocator a = owned[_i].allocator;
    const char *more[] = {owned[_i].block, "all", NULL};
    struct host hooked, asked;
    if (!harness_allocator(a, "test_caches_of_the_thread_itself_are_emptied") || !python_is_here("test_caches_of_the_thread_itself_are_emptied"))
        return;
    memory_run(&hooked, a, FIRST, more, "GIVEBACK_ON=exit:py:hooked:load", false);
    memory_run(&asked, a, FIRST, more, NULL, true);
    long left = said(&hooked, "later"), by_signal = said(&asked, "later");
    ck_assert_msg(left + owned[_i].kib <= by_signal, "%s: %ld KiB left, by a signal %ld", allocator_name(a), left, by_signal);
    host_clean(&hooked);
    host_clean(&asked);
}
END_TEST

START_TEST(test_every_kind_of_function_is_what_it_was)
{
    static char path[300];
    const char *argv[] = {PYTHON, path, NULL}, *env[] = {EVERY_KIND, NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    if (!harness_allocator(a, "test_every_kind_of_function_is_what_it_was") || !python_is_here("test_every_kind_of_function_is_what_it_was"))
        return;
    (void)snprintf(path, sizeof path, "%s", harness_victim("hooks_kinds.py"));
    ck_assert_int_eq(host_same(&(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i), .env = env, .input = ""}, 0, 0), 0);
}
END_TEST

/* How often each event fired in that program. */
START_TEST(test_every_kind_of_function_fires)
{
    static const struct {
        const char *event;
        unsigned times;
    } fired[] = {{"add", 1}, {"down", 1}, {"fail", 1}, {"later", 1}, {"older", 1}, {"items", 3}, {"steps", 2}, {"cached", 2}, {"kind", 2},
                 {"Base.must", 1}, {"Base.method", 1}, {"Base.of_class", 2}, {"Derived.Inner.deep", 1}, {"Base.length", 1},
                 {"Derived.method", 1}};
    static char path[300];
    const char *argv[] = {PYTHON, path, NULL}, *env[] = {EVERY_KIND, NULL};
    struct host h;
    if (!python_is_here("test_every_kind_of_function_fires"))
        return;
    (void)snprintf(path, sizeof path, "%s", harness_victim("hooks_kinds.py"));
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .input = ""});
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_uint_eq(host_notices(&h), 0);
    for (int i = 0; i < COUNT(fired); i++) {
        char line[100];
        (void)snprintf(line, sizeof line, "\"event\":\"exit:py:hooked:%s\"", fired[i].event);
        ck_assert_msg(host_count_log(&h, line) == fired[i].times, "%s: %u times", line, host_count_log(&h, line));
    }
    ck_assert_uint_eq(host_count_log(&h, "\"event\":\"enter:py:hooked:Base.static\""), 2);
    host_clean(&h);
}
END_TEST

/* Eight threads leave hooked functions at once while signals storm; then fork, unshare and exit in one. */
START_TEST(test_threads_fork_unshare_and_exit_in_a_hooked_function)
{
    static char path[300];
    const char *argv[] = {PYTHON, path, NULL}, *env[] = {IN_THREADS, NULL};
    enum allocator a = CELL_ALLOCATOR(_i);
    struct host bare, with;
    if (!harness_allocator(a, "test_threads_fork_unshare_and_exit_in_a_hooked_function") ||
        !python_is_here("test_threads_fork_unshare_and_exit_in_a_hooked_function"))
        return;
    (void)snprintf(path, sizeof path, "%s", harness_victim("hooks_threads.py"));
    host_start(&bare, &(struct host_setup){.argv = argv, .allocator = a, .env = env});
    (void)host_end(&bare);
    host_start(&with, &(struct host_setup){.argv = argv, .allocator = a, .place = CELL_PLACE(_i), .env = env});
    host_wait_line(&with, "ready");
    (void)host_storm(&with, SIGUSR1, 1000);
    (void)host_end(&with);
    host_compare(&bare, &with, "threads, fork, unshare, exit");
    ck_assert_int_eq(WEXITSTATUS(with.status), 5);
    ck_assert_uint_ge(host_count_log(&with, "exit:py:hooked:leave"), 3);
    host_clean(&bare);
    host_clean(&with);
}
END_TEST

/* Before the first call there is no thread and no descriptor of ours, and after it the table is the same. */
START_TEST(test_nothing_is_there_before_the_first_call)
{
    const char *argv[] = {PYTHON, "-c",
                          "import sys; sys.path.insert(0, sys.argv[1]); import hooked; print('ready', flush=True)\n"
                          "sys.stdin.readline(); hooked.add(1); print('called', flush=True); sys.stdin.readline()",
                          NULL, NULL},
               *env[] = {"GIVEBACK_ON=exit:py:hooked:add", NULL};
    char folder[300], before[4000], after[4000];
    struct host h;
    if (!python_is_here("test_nothing_is_there_before_the_first_call"))
        return;
    (void)snprintf(folder, sizeof folder, "%s/victim", harness_build());
    argv[3] = folder;
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env});
    host_wait_line(&h, "ready");
    ck_assert_uint_eq(host_threads(&h), 1);
    ck_assert_uint_eq(host_records(&h), 0);
    host_descriptors(&h, before, sizeof before);
    host_say(&h, "\n");
    host_wait_line(&h, "called");
    host_wait_log(&h, "exit:py:hooked:add", 1);
    host_descriptors(&h, after, sizeof after);
    ck_assert_str_eq(before, after);
    host_wait_worker(&h, false);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

/* One line for what cannot be hooked, and for what never came; silence where nobody asked for it. */
static const struct {
    const char *on, *program, *notice; /* NULL: no line at all */
} told[] = {
    {"exit:py:hooked:addd", "import hooked", "exit:py:hooked:addd: no 'addd' in hooked, near names there: add"},
    {"exit:py:hooked:Base.metod", "import hooked", "no 'metod' in hooked.Base, near names there: method"},
    {"exit:py:hooked:Nothing.f", "import hooked", "no 'Nothing' in hooked"},
    {"exit:py:hooked:Base", "import hooked", "it is a class: name a method of it"},
    {"exit:py:hooked:libc", "import hooked", "it is no function, but a CDLL"},
    {"exit:py:json.decodr:JSONDecoder.decode", "import json", "no module json.decodr was imported, near names there: json.decoder"},
    {"exit:py:hookd:add", "import hooked", "no module hookd was imported, near names there: hooked"},
    {"exit:py:__main__:f", "pass", "expected py:MODULE:QUALNAME of a module that is imported"},
    {"exit:py:vllm.v1.worker:f", "import json", NULL},
    {"exit:py:hooked:add", "import hooked, os; os._exit(0)", NULL},
    {"exit:py:hooked:add", "import hooked, importlib; importlib.reload(hooked)", NULL},
};

START_TEST(test_what_cannot_be_is_told_once)
{
    static char on[200], folder[320];
    const char *argv[] = {PYTHON, "-c", told[_i].program, NULL}, *env[] = {on, folder, NULL};
    struct host h;
    if (!python_is_here("test_what_cannot_be_is_told_once"))
        return;
    (void)snprintf(on, sizeof on, "GIVEBACK_ON=%s", told[_i].on);
    (void)snprintf(folder, sizeof folder, "PYTHONPATH=%s/victim", harness_build());
    host_start(&h, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .input = ""});
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_uint_eq(host_notices(&h), told[_i].notice ? 1 : 0);
    if (told[_i].notice)
        ck_assert_msg(host_count_log(&h, told[_i].notice) == 1, "%s", file_text(h.log));
    host_clean(&h);
}
END_TEST

/* Ways of starting Python and of finding the module, each with one record and the output that it has without us. */
static const char *const ways[][8] = {
    {PYTHON, "-c", "import sys; sys.path.insert(0, sys.argv[1]); import hooked; print(hooked.add(1))", "%s"},
    {PYTHON, "-ISE", "-c", "import sys; sys.path.insert(0, sys.argv[1]); import hooked; print(hooked.add(1))", "%s"},
    {PYTHON, "-c", "import sys, importlib; sys.path.insert(0, sys.argv[1]); print(importlib.import_module('hooked').add(1))", "%s"},
    {PYTHON, "-c",
     "import sys, importlib; sys.path.insert(0, sys.argv[1]); import hooked; importlib.reload(hooked); print(hooked.add(1))", "%s"},
    {PYTHON, "-c",
     "import sys, importlib.machinery as m; sys.path.insert(0, sys.argv[1])\n"
     "class Own:\n    find_spec = staticmethod(lambda n, p=None, t=None: m.PathFinder.find_spec(n, p, t))\n"
     "sys.meta_path.insert(0, Own); import hooked; print(hooked.add(1))",
     "%s"},
    {PYTHON, "-c",
     "import sys, zipfile; zipfile.ZipFile('z.zip', 'w').write(sys.argv[1] + '/hooked.py', 'hooked.py')\n"
     "z = zipfile.ZipFile('z.zip', 'a'); z.close(); sys.path.insert(0, 'z.zip'); import hooked; print(hooked.add(1), hooked.__file__)",
     "%s"},
    {PYTHON, "-c",
     "import sys, multiprocessing as m; sys.path.insert(0, sys.argv[1]); import hooked\n"
     "p = m.get_context('fork').Process(target=hooked.add, args=(1,)); p.start(); p.join(); print(p.exitcode)",
     "%s"},
    {PYTHON, "-c",
     "import sys, multiprocessing as m; sys.path.insert(0, sys.argv[1]); import hooked\n"
     "p = m.get_context('spawn').Process(target=hooked.add, args=(1,)); p.start(); p.join(); print(p.exitcode)",
     "%s"},
    {PYTHON, "-c",
     "import sys, multiprocessing as m; sys.path.insert(0, sys.argv[1]); import hooked\n"
     "p = m.get_context('forkserver').Process(target=hooked.add, args=(1,)); p.start(); p.join(); print(p.exitcode)",
     "%s"},
};

START_TEST(test_every_way_of_importing_is_seen)
{
    static char folder[300];
    const char *argv[9] = {NULL}, *env[] = {"GIVEBACK_ON=exit:py:hooked:add", NULL};
    struct host bare, with;
    if (!python_is_here("test_every_way_of_importing_is_seen"))
        return;
    (void)snprintf(folder, sizeof folder, "%s/victim", harness_build());
    for (int i = 0; ways[_i][i]; i++)
        argv[i] = strcmp(ways[_i][i], "%s") == 0 ? folder : ways[_i][i];
    host_start(&bare, &(struct host_setup){.argv = argv, .env = env, .input = ""});
    (void)host_end(&bare);
    host_start(&with, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .input = ""});
    (void)host_end(&with);
    host_compare(&bare, &with, argv[2]);
    ck_assert_int_eq(with.status, 0);
    ck_assert_uint_eq(host_records(&with), 1);
    ck_assert_uint_eq(host_notices(&with), 0);
    host_clean(&bare);
    host_clean(&with);
}
END_TEST

/* A failing import's traceback has no frame of ours. */
START_TEST(test_a_failing_import_fails_as_it_was)
{
    const char *argv[] = {PYTHON, "-c", "open('bad.py', 'w').write('def f(): pass\\n1 / 0\\n'); import sys; sys.path.insert(0, '')\nimport bad", NULL},
               *env[] = {"GIVEBACK_ON=exit:py:bad:f", NULL};
    struct host bare, with;
    if (!python_is_here("test_a_failing_import_fails_as_it_was"))
        return;
    host_start(&bare, &(struct host_setup){.argv = argv, .env = env, .input = ""});
    (void)host_end(&bare);
    host_start(&with, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .input = ""});
    (void)host_end(&with);
    char *said_bare = file_text(bare.err), *said_with = file_text(with.err);
    /* the scratch folder's name is in it */
    ck_assert_ptr_nonnull(strstr(said_bare, "ZeroDivisionError"));
    ck_assert_uint_eq(strlen(said_bare), strlen(said_with));
    ck_assert_ptr_null(strstr(said_with, "giveback>"));
    ck_assert_int_eq(with.status, bare.status);
    host_clean(&bare);
    host_clean(&with);
}
END_TEST

Suite *suite_hooks_python(void)
{
    Suite *s = suite_create("hooks_python");
    TCase *t = tcase_create("hooks_python");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_memory_is_back_before_the_caller_goes_on, 0, CELLS);
    tcase_add_loop_test(t, test_caches_of_the_thread_itself_are_emptied, 0, COUNT(owned));
    tcase_add_loop_test(t, test_every_kind_of_function_is_what_it_was, 0, CELLS);
    tcase_add_test(t, test_every_kind_of_function_fires);
    tcase_add_loop_test(t, test_threads_fork_unshare_and_exit_in_a_hooked_function, 0, CELLS);
    tcase_add_test(t, test_nothing_is_there_before_the_first_call);
    tcase_add_loop_test(t, test_what_cannot_be_is_told_once, 0, COUNT(told));
    tcase_add_loop_test(t, test_every_way_of_importing_is_seen, 0, COUNT(ways));
    tcase_add_test(t, test_a_failing_import_fails_as_it_was);
    suite_add_tcase(s, t);
    return s;
}
