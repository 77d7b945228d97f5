#include "hook_python.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "notice.h"
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
    py_object (*function)(struct py_method *, py_object, py_object);
    py_object (*compile)(const char *, const char *, int);
    py_object (*eval)(py_object, py_object, py_object);
    py_object (*builtins)(void);
    py_object (*dict)(void);
    int (*dict_set)(py_object, const char *, py_object);
    py_object (*build)(const char *, ...);
    int (*parse)(py_object, const char *, ...);
    void (*clear)(void);
    void (*decref)(py_object);
} python;

static const struct {
    const char *name;
    void **at;
} python_functions[] = {
    {"PySys_AddAuditHook", (void **)&python.add_audit_hook},
    {"Py_IsInitialized", (void **)&python.is_initialized},
    {"PyEval_SaveThread", (void **)&python.save_thread},
    {"PyEval_RestoreThread", (void **)&python.restore_thread},
    {"PyCFunction_NewEx", (void **)&python.function},
    {"Py_CompileString", (void **)&python.compile},
    {"PyEval_EvalCode", (void **)&python.eval},
    {"PyEval_GetBuiltins", (void **)&python.builtins},
    {"PyDict_New", (void **)&python.dict},
    {"PyDict_SetItemString", (void **)&python.dict_set},
    {"Py_BuildValue", (void **)&python.build},
    {"PyArg_ParseTuple", (void **)&python.parse},
    {"PyErr_Clear", (void **)&python.clear},
    {"Py_DecRef", (void **)&python.decref},
};

static const struct event *hook_events;
static size_t hook_n;
static bool hook_installed; /* under the GIL */

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

static struct py_method hook_methods[] = {
    {"fire", hook_fire, PYTHON_VARARGS, NULL},
    {"say", hook_say, PYTHON_VARARGS, NULL},
};

/* dict[name] = value, which is given away. */
static bool hook_give(py_object dict, const char *name, py_object value)
{
    bool given = dict && value && python.dict_set(dict, name, value) == 0;

    if (value)
        python.decref(value);
    return given;
}

/* {"1": (1, whether at its end, "py:MODULE:QUALNAME"), ...} */
static py_object hook_targets(void)
{
    py_object targets = python.dict();
    char key[8];
    struct text t;

    for (size_t i = 0; targets && i < hook_n; i++) {
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

    if (globals && python.dict_set(globals, "__builtins__", python.builtins()) == 0 &&
        hook_give(globals, "fire", python.function(&hook_methods[0], NULL, NULL)) &&
        hook_give(globals, "say", python.function(&hook_methods[1], NULL, NULL)) &&
        hook_give(globals, "targets", hook_targets()) &&
        (code = python.compile(hook_python_code, "<giveback>", PYTHON_FILE_INPUT))) {
        result = python.eval(code, globals, globals);
        python.decref(code);
    }
    if (result)
        python.decref(result);
    else
        notice_complain(NULL, "GIVEBACK_ON: this Python does not let its functions be hooked");
    python.clear();
    if (globals)
        python.decref(globals); /* what it defines lives on in the finder */
}

/* An audit hook cannot be taken away again: after the first import it costs the comparison of a flag. */
static int hook_audit(const char *event, py_object arguments, void *unused)
{
    (void)arguments;
    (void)unused;
    if (!hook_installed && strcmp(event, "import") == 0 && python.is_initialized()) {
        hook_installed = true;
        hook_install();
    }
    return 0;
}

void hook_python_start(const struct event *events, size_t n)
{
    hook_events = events;
    hook_n = n;
    if (!n)
        return;
    for (size_t i = 0; i < sizeof python_functions / sizeof *python_functions; i++)
        if (!(*python_functions[i].at = real_find(python_functions[i].name)))
            return; /* no Python here */
    python.add_audit_hook(hook_audit, NULL);
}
