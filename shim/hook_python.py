# The Python half of hook_python.c, which runs it once, in a namespace of its own that has:
#   fire(event)       carry an event's action out now
#   say(event, why)   one line: why its function is not hooked
#   targets           {key: (event, whether it fires at the end, "py:MODULE:QUALNAME")}
# Imports nothing that is not built in until a function is found: it runs in the middle of the program's first import.
import sys
import _thread


class Target:
    """One function, with all events on it."""

    def __init__(self, module, name):
        self.module, self.name = module, name
        self.enters, self.leaves = [], []
        self.events = []
        self.inside = _thread._local()  # nested calls: only the outermost fires

    def enter(self):
        depth = getattr(self.inside, "depth", 0)
        self.inside.depth = depth + 1
        if not depth:
            for event in self.enters:
                fire(event)

    def leave(self):
        self.inside.depth -= 1
        if not self.inside.depth:
            for event in self.leaves:
                fire(event)

    def say(self, why):
        for event in self.events:
            say(event, why)


def wrap(target, function):
    """A function of the same kind that fires around `function`; an async one and a generator fire at their own end."""
    import functools
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    enter, leave = target.enter, target.leave

    # Coroutines and generators of several callers are alive at once and change threads, so depth says nothing there.
    def begin():
        for event in target.enters:
            fire(event)

    def end():
        for event in target.leaves:
            fire(event)

    if flags & 0x80:  # CO_COROUTINE
        async def wrapper(*args, **kwargs):
            begin()
            try:
                return await function(*args, **kwargs)
            finally:
                end()
    elif flags & 0x200:  # CO_ASYNC_GENERATOR
        async def wrapper(*args, **kwargs):
            begin()
            generator = function(*args, **kwargs)
            try:
                value = None
                while True:
                    try:
                        item = await generator.asend(value)
                    except StopAsyncIteration:
                        return
                    try:
                        value = yield item
                    except GeneratorExit:
                        await generator.aclose()
                        raise
                    except BaseException as error:
                        item = await generator.athrow(error)
                        value = yield item
            finally:
                end()
    elif flags & 0x20:  # CO_GENERATOR
        def wrapper(*args, **kwargs):
            begin()
            try:
                return (yield from function(*args, **kwargs))
            finally:
                end()
    else:
        def wrapper(*args, **kwargs):
            enter()
            try:
                return function(*args, **kwargs)
            finally:
                leave()
    wrapper = functools.update_wrapper(wrapper, function)
    wrapper.__giveback__ = target
    return wrapper


def near(names, name):
    """The names there that are like it, for a slip of the pen."""
    import difflib
    found = difflib.get_close_matches(name, [n for n in names if not n.startswith("__")], 3)
    return ", near names there: " + ", ".join(found) if found else ""


def attach(target, module):
    """Put the wrapper in the function's place, in the module or class that holds it."""
    holder, parts = module, target.name.split(".")
    for part in parts[:-1]:
        inner = getattr(holder, part, None)
        if inner is None:
            return target.say("no %r in %s%s" % (part, target.module, near(dir(holder), part)))
        holder = inner
    name, space = parts[-1], holder
    for space in getattr(holder, "__mro__", (holder,)):  # as it stands there: not what a descriptor makes of it
        found = getattr(space, "__dict__", {}).get(name)
        if found is not None:
            break
    else:
        return target.say("no %r in %s%s" % (name, target.module, near(dir(holder), name)))
    if isinstance(found, (staticmethod, classmethod)):
        inner, again = found.__func__, type(found)
    else:
        inner, again = found, None
    if getattr(inner, "__giveback__", None) is target:
        return
    if isinstance(inner, property):
        return target.say("it is a property, not a function")
    if isinstance(inner, type):
        return target.say("it is a class: name a method of it, __init__ for example")
    if not callable(inner):
        return target.say("it is no function, but a %s" % type(inner).__name__)
    wrapper = wrap(target, inner)
    if again:
        wrapper = again(wrapper)
    try:
        setattr(holder, name, wrapper)
    except (AttributeError, TypeError) as error:
        target.say("it cannot be replaced: %s" % error)


class Finder:
    """Finds nothing itself: what the other finders find is given back with a loader that attaches afterwards."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.busy = _thread._local()

    def __repr__(self):
        return "<giveback's import hook>"

    def find_spec(self, name, path=None, target=None):
        if name not in self.wanted or getattr(self.busy, "name", None) == name:
            return None
        self.busy.name = name
        try:
            for finder in list(sys.meta_path):
                spec = None
                if finder is not self and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
            else:
                return None
        finally:
            self.busy.name = None
        self.watch(spec.loader, name)
        return spec

    def watch(self, loader, name):
        """The loader's own exec_module, on this one object: its class, and what inspect and others see of it, stay."""
        execute = getattr(loader, "exec_module", None)
        if execute is None or hasattr(execute, "__giveback__"):
            return

        def exec_module(module):
            execute(module)
            self.loaded(module)

        exec_module.__giveback__ = self
        try:
            loader.exec_module = exec_module
        except (AttributeError, TypeError):
            for target in self.wanted[name]:
                target.say("the loader of its module cannot be watched")

    def loaded(self, module):
        for target in self.wanted.get(getattr(module, "__name__", None), ()):
            attach(target, module)


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
        target.events.append(event)
        (target.leaves if leaves else target.enters).append(event)
    finder = Finder(wanted)
    sys.meta_path.insert(0, finder)
    for name in wanted:
        module = sys.modules.get(name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            finder.loaded(module)


install()
