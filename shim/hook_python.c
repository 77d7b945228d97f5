#include "hook_python.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "notice.h"
#include "parse.h"
#include "real.h"
#include "safe.h"
#include "text.h"

/* The text of hook_python.py, with a NUL behind it. */
__asm__(".section .rodata.hook_python_code, \"a\"\n"
        "hook_python_code:\n"
        ".incbin \"shim/hook_python.py\"\n"
        ".byte 0\n"
        ".previous");
extern const char hook_python_code[] __attribute__((visibility("hidden")));

/* Of Python.h, and stable through all its versions: the start symbol of a module, METH_VARARGS, PyMethodDef. */
enum { PYTHON_FILE_INPUT = 257, PYTHON_VARARGS = 1 };
typedef void *py_object;
struct py_method {
    const char *name;
    py_object (*call)(py_object self, py_object arguments);
    int flags;
    const char *doc;
};

static struct {
    int (*add_audit_hook)(int (*)(const char *, py_object, void *), void *);
    int (*is_initialized)(void);
    void *(*save_thread)(void);
    void (*restore_thread)(void *);
    void *(*interpreter)(void);
    py_object (*function)(struct py_method *, py_object, py_object);
    py_object (*compile)(const char *, const char *, int);
    py_object (*eval)(py_object, py_object, py_object);
    py_object (*builtins)(void);
    py_object (*dict)(void);
    int (*dict_set)(py_object, const char *, py_object);
    py_object (*dict_get)(py_object, const char *); /* borrowed */
    py_object (*call)(py_object, py_object);
    py_object (*build)(const char *, ...);
    int (*parse)(py_object, const char *, ...);
    void (*clear)(void);
    void (*decref)(py_object);
} python;

static const struct {
    const char *name;
    void **at;
    const char *older; /* its name before 3.9 */
} python_functions[] = {
    {"PySys_AddAuditHook", (void **)&python.add_audit_hook, NULL},
    {"Py_IsInitialized", (void **)&python.is_initialized, NULL},
    {"PyEval_SaveThread", (void **)&python.save_thread, NULL},
    {"PyEval_RestoreThread", (void **)&python.restore_thread, NULL},
    {"PyInterpreterState_Get", (void **)&python.interpreter, "_PyInterpreterState_Get"},
    {"PyCFunction_NewEx", (void **)&python.function, NULL},
    {"Py_CompileString", (void **)&python.compile, NULL},
    {"PyEval_EvalCode", (void **)&python.eval, NULL},
    {"PyEval_GetBuiltins", (void **)&python.builtins, NULL},
    {"PyDict_New", (void **)&python.dict, NULL},
    {"PyDict_SetItemString", (void **)&python.dict_set, NULL},
    {"PyDict_GetItemString", (void **)&python.dict_get, NULL},
    {"PyObject_CallObject", (void **)&python.call, NULL},
    {"Py_BuildValue", (void **)&python.build, NULL},
    {"PyArg_ParseTuple", (void **)&python.parse, NULL},
    {"PyErr_Clear", (void **)&python.clear, NULL},
    {"Py_DecRef", (void **)&python.decref, NULL},
};

static const struct event *hook_events;
static size_t hook_n;
static bool hook_installed; /* or about to be */
static py_object hook_globals; /* what hook_python.py runs in, for ever; NULL: not installed */
static void *hook_interpreter; /* the one it is installed in: the others know nothing of its objects */

/* fire(event): the action is carried out before it returns; other threads of Python run meanwhile. */
static py_object hook_fire(py_object self, py_object arguments)
{
    unsigned event;

    (void)self;
    if (!python.parse(arguments, "I", &event))
        return NULL;
    void *state = python.save_thread();
    safe_point(event);
    python.restore_thread(state);
    return python.build("");
}

/* say(event, text): why a function cannot be hooked. */
static py_object hook_say(py_object self, py_object arguments)
{
    const char *why;
    unsigned event;
    char line[640];
    struct text t;

    (void)self;
    if (!python.parse(arguments, "Is", &event, &why))
        return NULL;
    text_init(&t, line, sizeof line);
    text_str(&t, "GIVEBACK_ON: ");
    text_printable(&t, hook_events[event - 1].name, sizeof hook_events->name);
    text_str(&t, ": ");
    text_printable(&t, why, 300);
    notice_complain(NULL, line);
    return python.build("");
}

/* distance(a, b): how many letters make one word of the other. */
static py_object hook_distance(py_object self, py_object arguments)
{
    const char *a, *b;

    (void)self;
    if (!python.parse(arguments, "ss", &a, &b))
        return NULL;
    return python.build("I", parse_distance(a, strlen(a), b, strlen(b)));
}

static struct py_method hook_methods[] = {
    {"fire", hook_fire, PYTHON_VARARGS, NULL},
    {"say", hook_say, PYTHON_VARARGS, NULL},
    {"distance", hook_distance, PYTHON_VARARGS, NULL},
};

/* dict[name] = value, which is given away. */
static bool hook_give(py_object dict, const char *name, py_object value)
{
    bool given = dict && value && python.dict_set(dict, name, value) == 0;

    if (value)
        python.decref(value);
    return given;
}

static bool hook_is_python(const struct event *e)
{
    const char *module, *function;
    size_t n;

    return event_table[e->kind].takes == EVENT_TAKES_TARGET &&
           event_python_target(e->argument, &module, &n, &function) == 0;
}

/* {"1": (1, whether at its end, "py:MODULE:QUALNAME"), ...} */
static py_object hook_targets(void)
{
    py_object targets = python.dict();
    char key[8];
    struct text t;

    for (size_t i = 0; targets && i < hook_n; i++) {
        if (!hook_is_python(&hook_events[i]))
            continue;
        text_init(&t, key, sizeof key);
        text_u64(&t, i + 1);
        hook_give(targets, key,
                  python.build("(Iis)", (unsigned)i + 1, hook_events[i].kind == EVENT_EXIT, hook_events[i].argument));
    }
    return targets;
}

/* Runs hook_python.py in a namespace of its own. Holds the GIL; no exception is left behind. */
static void hook_install(void)
{
    py_object globals = python.dict(), code, result = NULL;
    bool given = globals && python.dict_set(globals, "__builtins__", python.builtins()) == 0 &&
                 hook_give(globals, "targets", hook_targets());

    for (size_t i = 0; given && i < sizeof hook_methods / sizeof *hook_methods; i++)
        given = hook_give(globals, hook_methods[i].name, python.function(&hook_methods[i], NULL, NULL));
    if (given && (code = python.compile(hook_python_code, "<giveback>", PYTHON_FILE_INPUT))) {
        result = python.eval(code, globals, globals);
        python.decref(code);
    }
    if (result) {
        python.decref(result);
        hook_interpreter = python.interpreter();
        hook_globals = globals;
        return;
    }
    notice_complain(NULL, "GIVEBACK_ON: this Python does not let its functions be hooked");
    python.clear();
    if (globals)
        python.decref(globals);
}

/* Our finder is to be asked first at the import that begins. */
static void hook_front(void)
{
    py_object result, front = python.dict_get(hook_globals, "front");

    result = front ? python.call(front, NULL) : NULL;
    if (result)
        python.decref(result);
    else
        python.clear();
}

/* Of any thread, with the GIL. An audit hook cannot be taken away again: what is no import costs a look at some letters.
 * "cpython.run_": what the interpreter is about to run, before its first import; "exec": the same, embedded. */
static int hook_audit(const char *event, py_object arguments, void *unused)
{
    bool import = event[0] == 'i' && strcmp(event, "import") == 0;

    (void)arguments;
    (void)unused;
    if (!__atomic_load_n(&hook_installed, __ATOMIC_RELAXED)) {
        if ((import || strcmp(event, "exec") == 0 || strncmp(event, "cpython.run_", 12) == 0) && python.is_initialized() &&
            !__atomic_exchange_n(&hook_installed, true, __ATOMIC_SEQ_CST))
            hook_install();
    } else if (import && hook_globals && python.interpreter() == hook_interpreter) {
        hook_front();
    }
    return 0;
}

void hook_python_start(const struct event *events, size_t n)
{
    bool wanted = false;

    hook_events = events;
    hook_n = n;
    for (size_t i = 0; i < n; i++)
        wanted = wanted || hook_is_python(&events[i]);
    if (!wanted)
        return;
    for (size_t i = 0; i < sizeof python_functions / sizeof *python_functions; i++) {
        void **at = python_functions[i].at;

        *at = real_find(python_functions[i].name);
        if (!*at && python_functions[i].older)
            *at = real_find(python_functions[i].older);
        if (!*at)
            return; /* no Python here */
    }
    python.add_audit_hook(hook_audit, NULL);
}
