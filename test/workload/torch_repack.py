#!/usr/bin/env python3
"""The model server's load on real PyTorch: int4 -> int32 -> int8 over the same shapes, by a process that knows of nobody.

Prints a line "MARK NAME anon=BYTES ..." at each phase (RssAnon as /proc/self/status has it), holds after "loaded" until a
line comes on stdin or SIGTERM does, and then prints a checksum over every weight, which proves that they are intact.
With --call it makes the release itself before that, by the call of the allocator that it runs on: what an outside
release is to be compared with.
"""
import argparse
import ctypes
import hashlib
import json
import math
import mmap
import signal
import sys
import warnings


def anon():
    """RssAnon in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    raise SystemExit("torch_repack.py: /proc/self/status: no RssAnon")


def mark(name, **more):
    print(f"MARK {name} anon={anon()}", *(f"{key}={value}" for key, value in more.items()), flush=True)


def release_call():
    """(name, function) of the call that makes this process's allocator give back what it holds."""
    process = ctypes.CDLL(None)

    def has(symbol):
        return getattr(process, symbol, None)

    if has("MallocExtension_ReleaseFreeMemory"):
        return "MallocExtension_ReleaseFreeMemory", process.MallocExtension_ReleaseFreeMemory
    if has("mallctl"):
        # 4096 stands for all arenas; on this thread, so its own cache first
        def purge():
            for name in (b"thread.tcache.flush", b"arena.4096.purge"):
                process.mallctl(name, None, None, None, ctypes.c_size_t(0))
        return "mallctl:arena.4096.purge", purge
    if has("mi_collect"):
        return "mi_collect", lambda: process.mi_collect(ctypes.c_bool(True))
    return "malloc_trim", lambda: process.malloc_trim(ctypes.c_size_t(0))


def prefetch(path):
    """Reads the file from its start to its end, so that it is in the page cache when its pages are wanted."""
    with open(path, "rb", buffering=0) as file:
        while file.read(16 << 20):
            pass


def load_parameters(torch, path):
    """The linears of the checkpoint as a loader leaves them: packed codes, zeros, scales of each group, a bias."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    dtypes = {"I32": torch.int32, "F16": torch.float16}
    linears = {}
    for name, entry in header.items():
        linear, part = name.rsplit(".", 1)
        if part in ("qweight", "qzeros", "scales", "bias"):
            shape, begin = entry["shape"], 8 + size + entry["data_offsets"][0]
            view = torch.frombuffer(data, dtype=dtypes[entry["dtype"]], count=math.prod(shape), offset=begin)
            linears.setdefault(linear, {})[part] = view.view(shape).clone()
    return list(linears.values())


def unpack(torch, words, along):
    """int32 codes of 4-bit ones, eight a word along this dimension."""
    shifts = torch.arange(0, 32, 4, dtype=torch.int32)
    shifts = shifts.view(1, 8, 1) if along == 0 else shifts.view(1, 1, 8)
    codes = (words.unsqueeze(along + 1) >> shifts) & 15
    return codes.flatten(along, along + 1)


def repack(torch, linear):
    """Makes "weight" (int8 [N, K]) and "scale" of what was loaded, and drops that."""
    codes = unpack(torch, linear.pop("qweight"), 0)
    zeros = unpack(torch, linear.pop("qzeros"), 1) + 1
    scales = linear.pop("scales")
    permuted = codes.t().contiguous()
    del codes
    grouped = permuted.view(permuted.shape[0], zeros.shape[0], -1) - zeros.t().unsqueeze(2)
    del permuted
    wide = (grouped * scales.float().t().unsqueeze(2)).flatten(1)
    del grouped
    linear["scale"] = wide.abs().amax(dim=1) / 127
    linear["weight"] = (wide / linear["scale"].unsqueeze(1)).round_().to(torch.int8)


def checksum(linears):
    """Over every byte of every tensor that is left."""
    total = hashlib.blake2b(digest_size=16)
    for linear in linears:
        for name in sorted(linear):
            tensor = linear[name]
            size = tensor.numel() * tensor.element_size()
            total.update((ctypes.c_char * size).from_address(tensor.data_ptr()))
    return total.hexdigest()


def hold():
    """Until a line on stdin, its end, or SIGTERM."""
    class Stop(Exception):
        pass

    def stop(number, frame):
        raise Stop

    signal.signal(signal.SIGTERM, stop)
    try:
        sys.stdin.readline()
    except Stop:
        pass
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("checkpoint", help="a file of mkcheckpoint's")
    parser.add_argument("--call", action="store_true", help="make the allocator's own release call after the hold")
    args = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # numpy is not there, and the mapping cannot be written: neither is missed
    import torch  # here, so that --help needs none
    mark("imported", torch=torch.__version__)
    prefetch(args.checkpoint)
    linears = load_parameters(torch, args.checkpoint)
    mark("parameters")
    for index, linear in enumerate(linears):
        repack(torch, linear)
        mark(f"repacked{index}")
    mark("loaded")
    hold()
    if args.call:
        name, call = release_call()
        call()
        mark("called", call=name)
    mark("intact", checksum=checksum(linears))


if __name__ == "__main__":
    main()
