"""A host that uses the allocator inside one wheel, frees what it took, and waits for the end of stdin: host.py CASE"""
import ctypes
import gc
import sys


def arrow(pool):
    import pyarrow
    pyarrow.set_memory_pool(pool(pyarrow))
    buffers = [pyarrow.allocate_buffer(1 << 20) for _ in range(400)]
    for buffer in buffers:
        ctypes.memset(buffer.address, 1, buffer.size)


def arrow_mimalloc():
    arrow(lambda pyarrow: pyarrow.mimalloc_memory_pool())


def arrow_jemalloc():
    import pyarrow
    pyarrow.jemalloc_set_decay_ms(1000000)  # else its background thread returns it after a second
    arrow(lambda pyarrow: pyarrow.jemalloc_memory_pool())


def polars():
    import polars
    frames = [polars.DataFrame({"a": range(20000), "b": [str(i) for i in range(20000)]}) for _ in range(300)]
    assert len(frames) == 300


def duckdb():
    import duckdb
    base = duckdb.connect()
    base.execute("set threads = 2")
    rows = base.execute("select 'abcabcabcabcabc' || i as s, list(i) from range(1500000) t(i) group by 1").fetchall()
    assert len(rows) == 1500000
    return base


kept = {"arrow_mimalloc": arrow_mimalloc, "arrow_jemalloc": arrow_jemalloc, "polars": polars, "duckdb": duckdb}[sys.argv[1]]()
gc.collect()
print("ready", flush=True)
sys.stdin.read()
