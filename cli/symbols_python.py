# Run by `giveback symbols` as: python3 -I -c THIS WHAT. Lists the functions and methods of a file, of every file in a folder, or of a
# module by its name, as Python's own parser sees them; nothing is imported or executed. A line each, with tabs between:
# module, qualified name, file, line, lines, why it cannot be hooked (empty: it can).
import ast
import importlib.machinery
import os
import sys
import tokenize

PROPERTY = "it is a property, not a function"
NOT_FUNCTIONS = {"property": PROPERTY, "setter": PROPERTY, "getter": PROPERTY, "deleter": PROPERTY,
                 "cached_property": "it is no function, but a cached_property"}


def fail(text):
    sys.exit("giveback: " + text)


def module_of(path):
    """The name by which the file is imported: the folders above it that are packages, and its own."""
    folder, base = os.path.split(os.path.abspath(path))
    names = [] if base == "__init__.py" else [base[:-3]]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    return ".".join(names)


def decorators(node):
    for decorator in node.decorator_list:
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        yield decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")


def functions(body, prefix):
    """(qualified name, node) of what can be reached by name from the module: not what is defined within a function."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node.body, prefix + node.name + ".")
        else:  # if, try, with, for, match
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                part = getattr(node, field, None)
                if isinstance(part, list):
                    for inner in part:
                        yield from functions(getattr(inner, "body", [inner]) if field in ("handlers", "cases") else [inner], prefix)


def show(path, module, strict):
    try:
        with tokenize.open(path) as file:
            tree = ast.parse(file.read(), path)
    except (OSError, SyntaxError, ValueError, UnicodeDecodeError, RecursionError) as error:
        reason = "%s: it cannot be read as Python %d.%d: %s" % (path, *sys.version_info[:2], error)
        if strict:
            fail(reason)
        print("giveback: " + reason.replace("\n", " "), file=sys.stderr)
        return
    last = {}  # a name that is defined several times means what stood there last
    for name, node in functions(tree.body, ""):
        last[name] = node
    for name, node in last.items():
        why = next((NOT_FUNCTIONS[d] for d in decorators(node) if d in NOT_FUNCTIONS), "")
        owner, _, own = name.rpartition(".")
        if owner and own.startswith("__") and not own.endswith("__"):  # what the compiler makes of a private name
            name = "%s._%s%s" % (owner, owner.split(".")[-1].lstrip("_"), own)
        if module == "__main__":
            why = "the functions of __main__ cannot be hooked"
        fields = (module, name, path, node.lineno, node.end_lineno - node.lineno + 1, why)
        if not any("\t" in str(f) or "\n" in str(f) for f in fields):
            print(*fields, sep="\t")


def walk(folder):
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f.isidentifier() and f != "__pycache__")
        for file in sorted(files):
            if file.endswith(".py") and (file == "__init__.py" or file[:-3].isidentifier()):
                yield os.path.join(path, file)


def namespace(path, folder):
    """A folder that is no package may be one nevertheless (a namespace package); below it the names are the folders'."""
    module = module_of(path)
    inner = os.path.relpath(os.path.dirname(os.path.abspath(path)), os.path.abspath(folder))
    if inner == "." or os.path.exists(os.path.join(folder, "__init__.py")):
        return module
    top = inner.split(os.sep)
    return module if module.split(".")[0] == top[0] else ".".join(top[:len(top) - len(module.split(".")) + 1] + [module])


def find(name):
    """The file of a module, found without importing the packages it stands in."""
    if name in sys.builtin_module_names:
        fail("%s is not written in Python, but part of the interpreter" % name)
    path = None
    for i, _ in enumerate(name.split(".")):
        spec = importlib.machinery.PathFinder.find_spec(".".join(name.split(".")[:i + 1]), path)
        if spec is None:
            fail("%s: no such file, and no module of that name where %s -I looks for modules; name its file" % (name, sys.executable))
        path = spec.submodule_search_locations
    if path:
        return list(path)[0]
    if not spec.has_location or not spec.origin.endswith(".py"):
        fail("%s is not written in Python: name its file, %s, if it is a shared library" % (name, spec.origin))
    return spec.origin


what = sys.argv[1]
if not os.path.exists(what):
    what = find(what)
if os.path.isdir(what):
    for file in walk(what):
        show(file, namespace(file, what), False)
elif os.path.basename(what) == "__main__.py":
    show(what, module_of(what) if "." in module_of(what) else "__main__", True)
else:
    show(what, module_of(what), True)
