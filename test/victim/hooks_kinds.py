"""Prints what every kind of function does and says of itself: the same with hooks on all of them."""
import asyncio
import inspect
import pickle
import sys
import traceback

import hooked


async def all_of(n):
    got = []
    generator = hooked.items(n)
    got.append(await generator.__anext__())
    got.append(await generator.asend(7))
    got.append(await generator.asend(None))
    got.append(await generator.athrow(KeyError("k")))
    got.append(await generator.__anext__())
    got.append(await generator.athrow(ValueError("v")))
    got.append([x async for x in generator])
    generator = hooked.items(n)
    await generator.__anext__()
    await generator.aclose()
    generator = hooked.items(n)
    await generator.__anext__()
    try:
        await generator.athrow(TypeError("t"))
    except TypeError as error:
        got.append(repr(error))
    task = asyncio.ensure_future(hooked.later(1))
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        got.append("cancelled")
    return got


async def both():
    return await hooked.later(4), await hooked.older(5)


print(hooked.add(1), inspect.signature(hooked.add), hooked.add.__name__, hooked.add.__qualname__, hooked.add.__module__,
      hooked.add.__doc__, inspect.getsource(hooked.add), inspect.isfunction(hooked.add))
print(pickle.loads(pickle.dumps(hooked.add)) is hooked.add, hooked.down(50))
try:
    hooked.fail()
except KeyError as error:
    frames = traceback.extract_tb(error.__traceback__)
    print(error.args, error.__context__, frames[0].name, frames[-1].name, len([f for f in frames if f.filename != "<giveback>"]))
print(inspect.iscoroutinefunction(hooked.later), inspect.isasyncgenfunction(hooked.items), inspect.isgeneratorfunction(hooked.steps))
print(asyncio.run(both()), asyncio.run(all_of(3)), inspect.isawaitable(hooked.older(1)))
generator = hooked.steps(3)
print(next(generator), generator.send(5), generator.throw(ValueError("x")))
try:
    generator.send(7)
except StopIteration as stop:
    print(stop.value)
generator = hooked.steps(3)
next(generator)
generator.close()
hooked.cached(1), hooked.cached(1)
print(hooked.cached.cache_info(), hooked.cached.cache_clear(), hooked.cached.cache_info())
print(hooked.kind(1), hooked.kind(""), sorted(c.__name__ for c in hooked.kind.registry), hooked.kind.dispatch(bool)(True))
one = hooked.Derived()
print(one.must(), one.method(), one.of_class(), hooked.Base.of_class(), one.static(3), hooked.Base.static(4), hooked.Derived.Inner().deep(),
      inspect.isabstract(hooked.Base), one.length(("a", "b")))
print([type(finder).__module__ for finder in sys.meta_path if not hasattr(finder, "find_spec")], sys.path[1:2])
