/* Hooks on native functions: a program does, prints and returns the same with them, whatever its functions carry and however they
 * are left; they fire once for an outermost call; what cannot be hooked is said. */
#include "harness.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

/* Bare and hooked to the end, with the same status and output; the hooked one's log stays to be looked at. */
static void same(struct host *with, const char *const *argv, const char *on, const char *what)
{
    char setting[600];
    const char *const env[] = {setting, NULL};
    struct host bare;

    (void)snprintf(setting, sizeof setting, "GIVEBACK_ON=%s", on);
    host_start(&bare, &(struct host_setup){.argv = argv, .place = WITHOUT, .input = ""});
    host_end(&bare);
    host_start(with, &(struct host_setup){.argv = argv, .place = FIRST, .env = env, .input = ""});
    host_end(with);
    host_compare(&bare, with, what);
    ck_assert_int_eq(with->status, 0);
    host_clean(&bare);
}

static unsigned marks(const struct host *h)
{
    return host_count_log(h, "\"action\":\"mark\"");
}

static void same_with_marks(const char *const *argv, const char *on, unsigned least, unsigned most)
{
    struct host h;

    same(&h, argv, on, on);
    ck_assert_msg(marks(&h) >= least && marks(&h) <= most, "%s fired %u times, expected %u to %u", on, marks(&h), least, most);
    host_clean(&h);
}

#if defined __x86_64__
START_TEST(test_arguments_and_results_pass_through)
{
    /* at both ends; nested, where nothing fires; with more of the stack than any of them needs */
    static const char *const argv[] = {"hookabi", NULL};
    unsigned functions = __builtin_cpu_supports("avx512bw") ? 10 : __builtin_cpu_supports("avx") ? 9 : 8;

    same_with_marks(argv, "exit:abi_*->mark; enter:abi_*->mark", 2 * functions, 2 * functions);
    same_with_marks(argv, "exit:hookabi:main->mark; exit:hookabi:[am]*[!n]->mark", functions + 1, functions + 1);
    same_with_marks(argv, "exit:hookabi:[am]*->mark", 1, 1);
    same_with_marks(argv, "exit:hookabi:abi_*,stack=4096->mark", functions, functions);
}
END_TEST

/* How a function is left, how often it fires in 10,000 times. The last longjmp is not followed by a call; on each side of a
 * switch to another stack there is a call that has not returned when the other side makes its own. */
static const struct { const char *way; unsigned least, most; } ways[] = {
    {"throw", 10000, 10000}, {"nested", 10000, 10000}, {"longjmp", 9999, 10000}, {"exit", 10000, 10000},
    {"cancel", 10000, 10000}, {"coroutine", 19998, 20001}, {"backtrace", 1, 1},
};

START_TEST(test_left_in_any_way)
{
    const char *argv[] = {"hookflow", ways[_i].way, NULL};

    same_with_marks(argv, "exit:flow_*->mark", ways[_i].least, ways[_i].most);
}
END_TEST

START_TEST(test_at_the_top_of_a_small_stack)
{
    static const char *const argv[] = {"hooktop", NULL};

    same_with_marks(argv, "exit:top_entry->mark", 1000, 1000);
    same_with_marks(argv, "exit:top_entry,stack=8192->mark; enter:top_entry->mark", 2000, 2000);
}
END_TEST

START_TEST(test_many_threads_at_once)
{
    static const char *const few[] = {"hookthreads", "128", "20", NULL}, *const many[] = {"hookthreads", "1000", "1", NULL};

    /* several threads that come together may share a record */
    same_with_marks(few, "exit:work_*->mark", 1, 2 * 128 * 20);
    same_with_marks(many, "exit:work_deep->mark; enter:work_sum->mark", 1, 2 * 1000);
}
END_TEST

START_TEST(test_a_plugin_is_hooked_before_its_constructors)
{
    static const char *const argv[] = {"hookplugin", "300", NULL};

    same_with_marks(argv, "exit:libhookplug.so:plug_work->mark", 600, 600);
    same_with_marks(argv, "exit:plug_wor?->mark", 600, 600);
    same_with_marks(argv, "exit:libother*:plug_work->mark", 0, 0);
}
END_TEST

/* Linkers can make such a segment (execute-only), and processors can see to it. */
START_TEST(test_code_that_cannot_be_read_is_refused)
{
    static char bytes[1 << 20];
    static const char setting[] = "exit:plug_work->mark";
    char folder[400], path[500];
    const char *argv[] = {"hookplugin", "1", folder, NULL};
    struct host h;
    FILE *f = fopen(harness_victim("libhookplug.so"), "r");

    ck_assert_ptr_nonnull(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    ElfW(Phdr) *p = (ElfW(Phdr) *)(void *)(bytes + ((ElfW(Ehdr) *)(void *)bytes)->e_phoff);
    for (int i = 0; i < ((ElfW(Ehdr) *)(void *)bytes)->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && p[i].p_flags == (PF_R | PF_X))
            p[i].p_flags = PF_X;
    (void)snprintf(folder, sizeof folder, "%s/scratch/unreadable.%d", harness_build(), (int)getpid());
    (void)snprintf(path, sizeof path, "%s/libhookplug.so", folder);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    ck_assert_ptr_nonnull(f = fopen(path, "w"));
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
    same(&h, argv, setting, setting);
    ck_assert_msg(host_count_log(&h, "it does not lie in its object's code, or that cannot be read") == 1 && marks(&h) == 0, "%s", file_text(h.log));
    host_clean(&h);
    (void)remove(path);
    (void)remove(folder);
}
END_TEST

START_TEST(test_a_plugin_in_a_namespace_of_its_own_is_hooked)
{
    static const char *const argv[] = {"hookplugin", "16", "", "apart", NULL};
    void *base = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    const char *version = ((const char *(*)(void))(uintptr_t)base)();

    if (strcmp(version, "2.35") < 0) { /* as text: 2.17 to 2.99 */
        harness_skip("test_a_plugin_in_a_namespace_of_its_own_is_hooked", "this ld.so does not tell of other namespaces");
        return;
    }
    same_with_marks(argv, "exit:libhookplug.so:plug_work->mark", 32, 32);
}
END_TEST

START_TEST(test_what_an_ifunc_has_chosen_is_hooked)
{
    static const char *const argv[] = {"hookifunc", "7", NULL};

    same_with_marks(argv, "exit:chosen_later->mark", 7, 7);
}
END_TEST

/* Overwriting the first of two neighbours hides its branch into the second one. */
START_TEST(test_a_hooked_neighbour_still_counts)
{
    static const char *const argv[] = {"hookrefused", NULL};
    struct host h;

    same(&h, argv, "exit:refuse_neighbour->mark; exit:refuse_entered", "neighbours");
    ck_assert_uint_eq(marks(&h), 1);
    ck_assert_uint_eq(host_count_log(&h, "refuse_entered of hookrefused is not hooked: something else seems to branch into its first bytes"), 1);
    host_clean(&h);
}
END_TEST

/* The worker calls malloc_trim: it may not wait for itself. */
START_TEST(test_work_of_the_library_fires_nothing)
{
    static const char *const env[] = {"GIVEBACK_ON=enter:libc*:malloc_trim->mark; exit:libc*:malloc_trim", NULL};
    struct host_setup s = {.argv = (const char *const[]){"hold", NULL}, .place = FIRST, .env = env};
    char record[5000];
    struct host h;

    host_start(&h, &s);
    host_wait_line(&h, "ready");
    host_kill(&h, SIGUSR1);
    host_record(&h, 0, record, sizeof record);
    host_kill(&h, SIGUSR1);
    host_record(&h, 1, record, sizeof record);
    ck_assert_uint_eq(host_records(&h), 2);
    ck_assert_uint_eq(marks(&h), 0);
    host_stop(&h);
    host_clean(&h);
}
END_TEST

/* What stands in front of libc is what the library itself calls, by whatever name of the object. */
START_TEST(test_what_the_library_calls_is_not_hooked)
{
    static const char *const env[] = {"GIVEBACK_ON=exit:libstrlen.so:strlen->mark", NULL};
    char preload[1000];
    struct host_setup s = {.argv = (const char *const[]){"hookifunc", NULL}, .place = FIRST, .env = env, .preload = preload, .input = ""};
    struct host h;

    (void)snprintf(preload, sizeof preload, "%s:", harness_victim("libstrlen.so"));
    host_start(&h, &s);
    ck_assert_int_eq(host_end(&h), 0);
    ck_assert_uint_eq(host_count_log(&h, "strlen of libstrlen.so is not hooked: this library calls it itself"), 1);
    ck_assert_uint_eq(marks(&h), 0);
    host_clean(&h);
}
END_TEST

/* An object that nobody has is named by the first process of a tree only, a function that an object lacks by whoever has that. */
START_TEST(test_what_is_missing_is_said_once_in_a_tree)
{
    char command[1000];
    const char *const argv[] = {"/bin/bash", "-c", command, NULL}, *const dash[] = {"/bin/dash", "-c", "/bin/true; :", NULL};
    struct host h;

    same(&h, dash, "exit:libnothere*:f", "dash, which says nothing itself");
    ck_assert_uint_eq(host_count_log(&h, "exit:libnothere*:f: no such object was loaded"), 1);
    host_clean(&h);
    (void)snprintf(command, sizeof command, "%s 1; /bin/true; /bin/bash -c '/bin/true; :'; :", harness_victim("hookplugin"));
    same(&h, argv, "exit:libnothere*:f; exit:libhookplug.so:no_such_function; exit:libc.so.6:no_such_function; enter:no_such_*", "a tree");
    ck_assert_uint_eq(host_count_log(&h, "exit:libnothere*:f: no such object was loaded"), 1);
    ck_assert_uint_eq(host_count_log(&h, "exit:libhookplug.so:no_such_function: no such object was loaded"), 1);
    ck_assert_uint_eq(host_count_log(&h, "exit:libhookplug.so:no_such_function: no such function was loaded"), 1);
    ck_assert_uint_eq(host_count_log(&h, "exit:libc.so.6:no_such_function: no such function was loaded"), 1);
    ck_assert_uint_eq(host_count_log(&h, "enter:no_such_*: no such function was loaded"), 1);
    ck_assert_uint_eq(host_notices(&h), 5);
    host_clean(&h);
}
END_TEST

/* A library that is opened by its file's name is meant by its soname too. */
START_TEST(test_an_object_is_known_by_its_soname)
{
    char path[1000];
    const char *const argv[] = {"plugged", realpath("/lib/x86_64-linux-gnu/libstdc++.so.6", path), NULL};
    struct host h;

    ck_assert(argv[1] && strcmp(strrchr(path, '/'), "/libstdc++.so.6") != 0);
    same(&h, argv, "exit:libstdc++.so.6:no_such_function", "soname");
    ck_assert_uint_eq(host_count_log(&h, "no such function was loaded"), 1);
    host_clean(&h);
}
END_TEST

static const struct { const char *on, *line; } refused[] = {
    {"exit:refuse_call", "refuse_call of hookrefused is not hooked: there is a call in its first bytes"},
    {"exit:refuse_short", "before there is room for a jump"},
    {"exit:refuse_back", "it branches back into its own first bytes"},
    {"exit:refuse_loop", "reaches no further than where it stands"},
    {"exit:refuse_trap", "before there is room for a jump"},
    {"exit:refuse_unknown", "an instruction in it that is not known"},
    {"exit:refuse_sizeless", "how long it is stands in no table"},
    {"exit:refuse_data", "it is data"},
    {"exit:refuse_part_cold.cold", "a part or a clone that the compiler made"},
    {"exit:libc*:malloc", "malloc of libc.so.6 is not hooked: it is an allocator's entry point"},
    {"exit:refuse_entered", "something else seems to branch into its first bytes"},
    {"exit:refuse_other_name", "refuse_other_name of hookrefused is not hooked: it is an allocator's entry point"},
    {"enter:free", "it is an allocator's entry point"},
    {"exit:libc*:munmap", "allocators call it while they hold their locks"},
    {"exit:vfork", "it may return twice"},
    {"exit:libc*:memcpy", "this library calls it itself"},
    {"exit:ld-linux*:_dl_debug_state", "it is ld.so's own"},
    {"exit:linux-vdso*:__vdso_time", "it is the kernel's"},
    {"exit:libgiveback*:sigaction", "it is this library's own"},
    {"exit:libnothere*:f", "no such object was loaded"},
    {"exit:libc.so.6:no_such_function", "no such function was loaded"},
    {"enter:no_such_*", "no such function was loaded"},
};

START_TEST(test_what_cannot_be_hooked_is_said_once)
{
    static const char *const argv[] = {"hookrefused", NULL};
    struct host h;

    same(&h, argv, refused[_i].on, refused[_i].on);
    ck_assert_msg(host_count_log(&h, refused[_i].line) == 1 && host_notices(&h) == 1 && host_records(&h) == 0, "%s: the log is not one line with \"%s\": %s",
                  refused[_i].on, refused[_i].line, file_text(h.log));
    host_clean(&h);
}
END_TEST

/* The safe point: what the function freed has gone back when its caller goes on, under every allocator. */
START_TEST(test_the_end_of_a_function_is_a_safe_point)
{
    static const char *const argv[] = {"hookrepack", "4", NULL};
    static const char *const env[] = {"GIVEBACK_ON=layer=exit:repack_layer", "GIVEBACK_FORMAT=json", NULL};
    struct host_setup s = {.argv = argv, .allocator = CELL_ALLOCATOR(_i), .place = WITHOUT};
    char record[5000], label[60];
    unsigned emptied = 0;
    struct host h;
    int64_t bare;

    if (!harness_allocator(s.allocator, "test_the_end_of_a_function_is_a_safe_point"))
        return;
    host_start(&h, &s);
    host_wait_line(&h, "ready");
    bare = host_anon(&h);
    host_end(&h);
    host_clean(&h);
    s.place = CELL_PLACE(_i);
    s.env = env;
    host_start(&h, &s);
    host_wait_line(&h, "ready");
    /* mimalloc 2.0.9 gives all of it back after the first layer only, also to a program that calls mi_collect itself: 1, 33,
     * 63, 65 MB are there after its own calls, the same as after ours */
    if (s.allocator != MIMALLOC)
        ck_assert_int_lt(host_anon(&h), 8 * MIB);
    ck_assert_msg(bare > 40 * MIB, "%s keeps only %ld MiB without the library", allocator_name(s.allocator), (long)(bare / MIB));
    ck_assert_uint_eq(host_records(&h), 4);
    for (unsigned n = 0; n < 4; n++) { /* TBB keeps nothing of the first layer, mimalloc all of a later one */
        host_record(&h, n, record, sizeof record);
        json_string(record, "label", label, sizeof label);
        ck_assert_str_eq(label, "layer");
        emptied += json_number(record, "before.anon") > 40 * MIB && json_number(record, "after.anon") < 8 * MIB;
    }
    ck_assert_uint_ge(emptied, 1);
    ck_assert_int_eq(host_end(&h), 0);
    host_clean(&h);
}
END_TEST

START_TEST(test_promise_errno_descriptors_and_threads_with_hooks)
{
    static const char *const errnos[] = {"errnos", NULL};
    static const char *const env[] = {"GIVEBACK_ON=exit:no_such_function; enter:libc*:getppid->mark", NULL};
    struct host_setup idle = {.argv = (const char *const[]){"idle", "sleep", NULL}, .place = WITHOUT, .env = env};
    char bare_list[4000], list[4000];
    struct host bare, h;

    same(&h, errnos, "exit:libc*:getppid->mark; enter:nothing", "errno is 0 at main");
    host_clean(&h);
    host_start(&bare, &idle);
    host_wait_line(&bare, "ready");
    idle.place = FIRST;
    host_start(&h, &idle);
    host_wait_line(&h, "ready");
    host_descriptors(&bare, bare_list, sizeof bare_list);
    host_descriptors(&h, list, sizeof list);
    ck_assert_uint_eq(host_threads(&h), 1);
    unsigned n = 0, m = 0;
    for (const char *p = list; (p = strchr(p, '\n')); p++)
        n++;
    for (const char *p = bare_list; (p = strchr(p, '\n')); p++)
        m++;
    ck_assert_msg(n == m, "descriptors: %s\nbare: %s", list, bare_list);
    host_stop(&bare);
    host_stop(&h);
    host_clean(&bare);
    host_clean(&h);
}
END_TEST

/* Without an event on a native function nothing is opened that is not opened otherwise. */
START_TEST(test_nothing_is_read_without_a_native_event)
{
    static const char *const ons[] = {"GIVEBACK_ON=", "GIVEBACK_ON=exit:py:os:getcwd", "GIVEBACK_ON=exit:nothing_of_it"};
    char preload[400], out[400], command[1200];

    (void)snprintf(out, sizeof out, "%s/scratch/trace.%d", harness_build(), _i);
    (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", harness_library());
    (void)snprintf(command, sizeof command, "strace -E %s -E '%s' -E GIVEBACK_LOG=none -o %s true", preload, ons[_i], out);
    ck_assert_int_eq(system(command), 0);
    char *text = file_text(out);
    ck_assert_msg(strstr(text, "libgiveback") != NULL, "no trace");
    ck_assert_msg((strstr(text, "/proc/self/mem") != NULL) == (_i == 2), "%s: %s", ons[_i], text);
    free(text);
    (void)remove(out);
}
END_TEST

Suite *suite_hooks(void)
{
    Suite *suite = suite_create("hooks");
    TCase *c = tcase_create("hooks");

    tcase_set_timeout(c, HARNESS_TIMEOUT);
    tcase_add_test(c, test_arguments_and_results_pass_through);
    tcase_add_loop_test(c, test_left_in_any_way, 0, sizeof ways / sizeof *ways);
    tcase_add_test(c, test_at_the_top_of_a_small_stack);
    tcase_add_test(c, test_many_threads_at_once);
    tcase_add_test(c, test_a_plugin_is_hooked_before_its_constructors);
    tcase_add_test(c, test_code_that_cannot_be_read_is_refused);
    tcase_add_test(c, test_a_plugin_in_a_namespace_of_its_own_is_hooked);
    tcase_add_test(c, test_what_an_ifunc_has_chosen_is_hooked);
    tcase_add_test(c, test_a_hooked_neighbour_still_counts);
    tcase_add_test(c, test_work_of_the_library_fires_nothing);
    tcase_add_test(c, test_what_the_library_calls_is_not_hooked);
    tcase_add_test(c, test_what_is_missing_is_said_once_in_a_tree);
    tcase_add_test(c, test_an_object_is_known_by_its_soname);
    tcase_add_loop_test(c, test_what_cannot_be_hooked_is_said_once, 0, sizeof refused / sizeof *refused);
    tcase_add_loop_test(c, test_the_end_of_a_function_is_a_safe_point, 0, CELLS);
    tcase_add_test(c, test_promise_errno_descriptors_and_threads_with_hooks);
    tcase_add_loop_test(c, test_nothing_is_read_without_a_native_event, 0, 3);
    suite_add_tcase(suite, c);
    return suite;
}
#else
Suite *suite_hooks(void)
{
    return suite_create("hooks"); /* x86-64 only */
}
#endif
