# The Python half of hook_python.c, which runs it once, in a namespace of its own that has:
#   fire(event)       carry an event's action out now
#   say(event, why)   one line: why its function is not hooked
#   distance(a, b)    how many letters make one word of the other
#   targets           {key: (event, whether it fires at the end, "py:MODULE:QUALNAME")}
# It leaves front(), which hook_python.c calls at each import that begins.
# Imports only what is built in: it runs in the middle of the program's first import, and the program may look at sys.modules.
import sys
import atexit
import posix
from _thread import get_ident

FUNCTION = type(lambda: None)
# Callables that are as good as a function: no state that the program sets through them. (Cython's, nanobind's, a cache's)
LIKE_FUNCTIONS = {"function", "builtin_function_or_method", "method_descriptor", "cython_function_or_method",
                  "fused_cython_function", "nb_func", "nb_method", "_lru_cache_wrapper"}
COROUTINE, ASYNC_GENERATOR, GENERATOR, ITERABLE_COROUTINE = 0x80, 0x200, 0x20, 0x100


class Target:
    """One function, with all events on it."""

    def __init__(self, module, name):
        self.module, self.name = module, name
        self.enters, self.leaves, self.events = [], [], []
        self.seen = False  # its module was imported
        # Threads in a call of it: only the outermost of nested calls fires. A set, since a look into it costs less than
        # a thread's own attribute; a thread that is in it cannot end, but for fork, which leaves only one.
        self.inside = set()

    def say(self, why):
        why = why.encode("ascii", "backslashreplace").decode().replace("\0", " ")  # what C can take, whatever it quotes
        for event in self.events:
            say(event, why)

    def forked(self):
        self.inside &= {get_ident()}


# Coroutines and generators of several callers are alive at once and change threads: each fires at its own end.
def wrap_coroutine(target, function):
    async def wrapper(*args, **kwargs):
        try:
            for event in target.enters:
                fire(event)
            return await function(*args, **kwargs)
        finally:
            for event in target.leaves:
                fire(event)
    return wrapper


def wrap_async_generator(target, function):
    async def wrapper(*args, **kwargs):
        try:
            for event in target.enters:
                fire(event)
            generator = function(*args, **kwargs)
            step = generator.__anext__()
            while True:
                try:
                    item = await step
                except StopAsyncIteration:
                    return
                try:
                    value = yield item
                except GeneratorExit:
                    await generator.aclose()
                    raise
                except BaseException as error:
                    step = generator.athrow(error)
                else:
                    step = generator.asend(value)
        finally:
            for event in target.leaves:
                fire(event)
    return wrapper


def wrap_generator(target, function):
    def wrapper(*args, **kwargs):
        try:
            for event in target.enters:
                fire(event)
            return (yield from function(*args, **kwargs))
        finally:
            for event in target.leaves:
                fire(event)
    return wrapper


def wrap_function(target, function):
    inside, enters, leaves = target.inside, target.enters, target.leaves

    def wrapper(*args, **kwargs):
        me = get_ident()
        if me in inside:
            return function(*args, **kwargs)
        try:
            inside.add(me)
            for event in enters:
                fire(event)
            return function(*args, **kwargs)
        finally:
            inside.discard(me)
            for event in leaves:
                fire(event)
    return wrapper


def wrap(target, function):
    """A function of the same kind that fires around `function`, and says of itself what that one says."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    kind = (wrap_coroutine if flags & COROUTINE else wrap_async_generator if flags & ASYNC_GENERATOR else
            wrap_generator if flags & GENERATOR else wrap_function)
    wrapper = kind(target, function)
    if flags & ITERABLE_COROUTINE:  # types.coroutine: a generator that can be awaited
        wrapper.__code__ = wrapper.__code__.replace(co_flags=wrapper.__code__.co_flags | ITERABLE_COROUTINE)
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__type_params__"):
        if hasattr(function, name):
            setattr(wrapper, name, getattr(function, name))
    wrapper.__dict__.update(getattr(function, "__dict__", {}))
    if not isinstance(function, FUNCTION):  # what a cache's type gives it: cache_clear()
        for name in dir(function):
            if not name.startswith("__"):
                setattr(wrapper, name, getattr(function, name))
    wrapper.__wrapped__ = function
    wrapper.__giveback__ = target
    return wrapper


def near(names, wanted):
    """The names there that are like it, for a slip of the pen."""
    found = sorted((distance(name, wanted), name) for name in names if isinstance(name, str) and name[:2] != "__")
    found = [name for slips, name in found if slips <= 2 and 3 * slips <= len(wanted)][:3]
    return ", near names there: " + ", ".join(found) if found else ""


def look(holder, name):
    """What stands there under that name, (it,) or (): not what a descriptor or a lazy module makes of it."""
    for space in holder.__mro__ if isinstance(holder, type) else (holder,):
        names = getattr(space, "__dict__", {})
        if name in names:
            return (names[name],)
    return ()


def find(target, module):
    """(the module or class that has the function, what it has); nothing after a complaint."""
    holder, at = module, target.module
    parts = target.name.split(".")
    for part in parts:
        found = look(holder, part)
        if not found:
            return target.say("no %r in %s%s" % (part, at, near(dir(holder) if isinstance(holder, type) else vars(holder), part)))
        if part is not parts[-1]:
            holder, at = found[0], at + "." + part
    return holder, found[0]


def refusal(inner):
    """Why it cannot be hooked, or None."""
    if isinstance(inner, property):
        return "it is a property, not a function"
    if isinstance(inner, type):
        return "it is a class: name a method of it, __init__ for example"
    if type(inner).__name__ not in LIKE_FUNCTIONS:
        return "it is no function, but a %s" % type(inner).__name__
    return None


def attach(target, module):
    """Put the wrapper in the function's place, in the module or class that holds it."""
    place = find(target, module)
    if not place:
        return
    holder, found = place
    again = type(found) if isinstance(found, (staticmethod, classmethod)) else None
    inner = found.__func__ if again else found
    if isinstance(inner, FUNCTION) and inner.__dict__.get("__giveback__") is target:
        return
    why = refusal(inner)
    if why:
        return target.say(why)
    wrapper = wrap(target, inner)
    if not again and isinstance(holder, type) and not hasattr(type(inner), "__get__"):
        again = staticmethod  # a C function in a class gets no self
    try:
        setattr(holder, target.name.split(".")[-1], again(wrapper) if again else wrapper)
    except (AttributeError, TypeError) as error:
        target.say("it cannot be replaced: %s" % error)


class Finder:
    """Finds nothing itself: what the other finders find is given back with a loader that attaches afterwards."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.busy = set()  # (thread, name): the others are being asked, perhaps by way of this one

    def __repr__(self):
        return "<giveback's import hook>"

    def find_spec(self, name, path=None, target=None):
        key = get_ident(), name
        if name not in self.wanted or key in self.busy:
            return None
        self.busy.add(key)
        try:
            for finder in list(sys.meta_path):
                if finder is self:
                    continue
                if not hasattr(finder, "find_spec"):
                    return None  # an old one, which only the import system knows how to ask (up to 3.11)
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    self.watch(spec.loader, name)
                    return spec
            return None
        finally:
            self.busy.discard(key)

    def watch(self, loader, name):
        """For this one import the loader runs the module through a function of ours, which takes itself away again."""
        kind = "exec_module" if hasattr(loader, "exec_module") else "load_module"  # zipimport up to 3.9
        execute = getattr(loader, kind, None)
        if execute is None or hasattr(execute, "__giveback__"):
            return
        own = getattr(loader, "__dict__", {}).get(kind)  # of a loader that is a class: the static method

        def run(module):
            try:
                if own is None:
                    delattr(loader, kind)
                else:
                    setattr(loader, kind, own)
            except AttributeError:
                pass  # another thread imports through the same loader, and was first
            result = execute(module)
            self.loaded(name, module if kind == "exec_module" else result)
            return result

        run.__giveback__ = self
        # Its frame stands where the loader's does, and is left out of a failing import's traceback like that one.
        run.__code__ = run.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")
        try:
            setattr(loader, kind, run)
        except (AttributeError, TypeError):
            for target in self.wanted[name]:
                target.say("the loader of its module cannot be watched")

    def loaded(self, name, module):
        for target in self.wanted[name]:
            target.seen = True
            try:
                attach(target, module)
            except Exception as error:  # whatever classes of the program do when they are looked at: it goes on
                target.say("it cannot be hooked: %s: %s" % (type(error).__name__, error))

    def front(self):
        """A finder that the program has put before this one (pytest does) would keep its modules from it."""
        if not sys.meta_path or sys.meta_path[0] is not self:
            sys.meta_path[:] = [self] + [finder for finder in sys.meta_path if finder is not self]

    def missed(self, process):
        """At exit: targets that never came, in the program that wanted their package, or another one by a slip. Every
        Python process of a tree has the same targets; most of them have nothing to do with them and say nothing."""
        if posix.getpid() != process:
            return
        tops = {name.split(".")[0] for name in sys.modules}
        main = getattr(getattr(sys.modules.get("__main__"), "__spec__", None), "name", None)
        for name, there in self.wanted.items():
            for target in there:
                if target.seen:
                    continue
                if main == name:
                    target.say("the module runs as __main__ here, whose functions cannot be hooked")
                elif name in sys.modules:
                    target.say("its module was imported in a way that is not seen")
                elif name.split(".")[0] in tops:
                    target.say("no module %s was imported%s" % (name, near(sys.modules, name)))
                else:
                    like = near(tops, name)
                    if like:
                        target.say("no module %s was imported%s" % (name, like))


def install():
    wanted = {}
    for event, leaves, argument in targets.values():
        _, module, name = argument.split(":")
        for target in wanted.setdefault(module, []):
            if target.name == name:
                break
        else:
            target = Target(module, name)
            wanted[module].append(target)
            posix.register_at_fork(after_in_child=target.forked)
        target.events.append(event)
        (target.leaves if leaves else target.enters).append(event)
    finder = Finder(wanted)
    finder.front()
    atexit.register(finder.missed, posix.getpid())
    for name in wanted:
        module = sys.modules.get(name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            finder.loaded(name, module)
    return finder.front


front = install()
