/* Real programs start, work and end as without us, under every allocator and in both orders; and what their children
 * inherit. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static const struct {
    const char *argv[8];
    unsigned turns; /* lines "ready", at each of which it gets releases and a line */
} programs[] = {
    {{"/usr/bin/python3", "-c",
      "import sys, threading, subprocess, re, json\n"
      "d = [{'n': i, 's': 'x' * (i % 1000)} for i in range(30000)]\n"
      "print(len(json.dumps(d))); del d\n"
      "t = [threading.Thread(target=lambda: [bytes(i) for i in range(3000)]) for _ in range(4)]\n"
      "[x.start() for x in t]; [x.join() for x in t]\n"
      "for _ in range(2): print('ready', flush=True); sys.stdin.readline()\n"
      "print(subprocess.run(['/bin/echo', 'child'], capture_output=True).stdout)\n"},
     2},
    {{"/usr/bin/perl", "-e",
      "$| = 1; my %h; $h{$_} = 'x' x ($_ % 500) for 1 .. 40000; print scalar(keys %h), \"\\n\"; %h = ();"
      "$ENV{A} = 'b' x 100; for (1 .. 2) { print \"ready\\n\"; <STDIN>; } print `echo child \\$A`; exit 4"},
     2},
    {{"/bin/bash", "-c",
      "for i in {1..2000}; do a[i]=$((i * i)); done; echo ${#a[@]}; unset a; for i in 1 2; do echo ready; read -r x; done;"
      "trap 'echo term' TERM; kill -TERM $$; (echo sub; exit 3); echo $?; echo $(seq 3); exit 5"},
     2},
    {{"/usr/bin/java", "-Xmx64m", "-version"}, 0},
    {{"/usr/bin/sort", "-S", "20M", "--parallel=4", "/etc/services"}, 0},
};

START_TEST(test_program_runs_as_without_us)
{
    int n = _i / CELLS;
    enum allocator a = CELL_ALLOCATOR(_i % CELLS);
    char name[100];
    (void)snprintf(name, sizeof name, "test_program_runs_as_without_us (%s)", programs[n].argv[0]);
    if (!harness_allocator(a, name))
        return;
    if (access(programs[n].argv[0], X_OK) != 0) {
        harness_skip(name, "not installed");
        return;
    }
    (void)host_same(&(struct host_setup){.argv = programs[n].argv, .allocator = a, .place = CELL_PLACE(_i % CELLS)}, programs[n].turns, 1);
}
END_TEST

/* What a spelling of our entry in LD_PRELOAD becomes in children under GIVEBACK_CHILDREN=drop: %s is our path. */
static const struct {
    const char *spelling, *left;
} drops[] = {
    {"%s", NULL},
    {"%s:libm.so.6", "libm.so.6"},
    {"libm.so.6:%s", "libm.so.6"},
    {"libm.so.6 %s", "libm.so.6"},
    {"libm.so.6:%s:libdl.so.2", "libm.so.6:libdl.so.2"},
    {":%s:", NULL},
    {"%s %s", NULL},
    {"libm.so.6:libdl.so.2:%s", "libm.so.6:libdl.so.2"},
};

static void children_of(const char *spelling, const char *children, const char *left)
{
    static char preload[2000], expected[2200];
    const char *argv[] = {"preloaded", NULL}, *env[] = {preload, children, NULL}, *own = harness_library();
    struct host h;
    strcpy(preload, "LD_PRELOAD=");
    (void)snprintf(preload + 11, sizeof preload - 11, spelling, own, own);
    if (!left)
        (void)snprintf(expected, sizeof expected, "getenv none\nentries 0\nchild none\n");
    else
        (void)snprintf(expected, sizeof expected, "environ %s\ngetenv %s\nentries 1\nchild %s\n", left, left, left);
    host_start(&h, &(struct host_setup){.argv = argv, .env = env});
    ck_assert_int_eq(host_end(&h), 0);
    char *out = file_text(h.out);
    /* blanks and colons at the ends say nothing to ld.so; what is between must be as it stood */
    ck_assert_msg(strcmp(out, expected) == 0, "%s with %s: children see\n%s\nand should see\n%s", spelling, children, out, expected);
    host_clean(&h);
}

START_TEST(test_children_drop_takes_out_our_entry_only)
{
    children_of(drops[_i].spelling, "GIVEBACK_CHILDREN=drop", drops[_i].left);
}
END_TEST

START_TEST(test_children_keep_changes_nothing)
{
    static char kept[1200];
    (void)snprintf(kept, sizeof kept, "libm.so.6:%s:", harness_library());
    children_of("libm.so.6:%s:", "GIVEBACK_CHILDREN=keep", kept);
}
END_TEST

/* A library of the same folder, a longer name, is not ours. */
START_TEST(test_children_drop_leaves_similar_names)
{
    static char left[1200], spelling[1400];
    (void)snprintf(left, sizeof left, "%s", harness_victim("libspy.so"));
    (void)snprintf(spelling, sizeof spelling, "%%s:%s", left);
    children_of(spelling, "GIVEBACK_CHILDREN=drop", left);
}
END_TEST

Suite *suite_programs(void)
{
    Suite *s = suite_create("programs");
    TCase *t = tcase_create("programs");
    tcase_set_timeout(t, HARNESS_TIMEOUT);
    tcase_add_loop_test(t, test_program_runs_as_without_us, 0, CELLS * COUNT(programs));
    tcase_add_loop_test(t, test_children_drop_takes_out_our_entry_only, 0, COUNT(drops));
    tcase_add_test(t, test_children_keep_changes_nothing);
    tcase_add_test(t, test_children_drop_leaves_similar_names);
    suite_add_tcase(s, t);
    return s;
}
