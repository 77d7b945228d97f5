"""What the hooks of test/preload/hooks_python.c are put on. Knows nothing of them."""
import abc
import asyncio
import ctypes
import functools
import os
import sys
import types

libc = ctypes.CDLL(None, use_errno=True)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def anon():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))


def load(size, total, keep=64):
    """Make garbage, all but one block in `keep`."""
    blocks = [libc.malloc(size) for _ in range(total // size)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    for i, block in enumerate(blocks):
        if i % keep:
            libc.free(block)
    return len(blocks)


def add(a, b=2, *rest, c=3, **more):
    "adds"
    return a + b + c


def down(n):
    return n if n == 0 else down(n - 1)


def fail():
    raise KeyError("as it is")


async def later(x):
    await asyncio.sleep(0)
    return x


@types.coroutine
def older(x):
    yield
    return x


async def items(n):
    try:
        for i in range(n):
            try:
                got = yield i
                if got:
                    yield "got", got
            except KeyError as error:
                yield "key", str(error)
            except ValueError as error:
                yield "value", str(error)
    finally:
        print("items closed")


def steps(n):
    total = 0
    for i in range(n):
        try:
            total += (yield i) or 0
        except ValueError:
            total = -1
    return total


@functools.lru_cache(maxsize=4)
def cached(x):
    return x


@functools.singledispatch
def kind(x):
    return "other"


@kind.register(int)
def kind_int(x):
    return "int"


class Base(abc.ABC):
    length = len

    @abc.abstractmethod
    def must(self):
        return 1

    def method(self):
        return type(self).__name__

    @classmethod
    def of_class(cls):
        return cls.__name__

    @staticmethod
    def static(x):
        return x


class Derived(Base):
    def must(self):
        return super().must() + 1

    class Inner:
        def deep(self):
            return "deep"


def leave(status):
    sys.exit(status)


def forks():
    child = os.fork()
    if child == 0:
        os._exit(add(1, 2, c=4))
    return os.waitpid(child, 0)[1] >> 8


def alone():
    """A user namespace: only a process of one thread may have it."""
    return libc.unshare(0x10000000), ctypes.get_errno()
