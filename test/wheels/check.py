"""Releases real Pythons that use the allocator inside a wheel, and judges them from outside: check.py BUILD"""
import json
import os
import subprocess
import sys
import time

BUILD = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
KEPT = 60 * MIB  # what each of them keeps at least, and gives back
PLUGGED = [BUILD + "/victim/plugged", BUILD + "/wheels/private_mimalloc.so", "1000"]
CASES = {  # what is run, the allocator's name, what is called
    "arrow_mimalloc": (None, "mimalloc", "libarrow.so.2600:mi_collect"),
    "arrow_jemalloc": (None, "jemalloc", "libarrow.so.2600:je_arrow_mallctl"),
    "polars": (None, "jemalloc", "_polars_runtime.abi3.so:_rjem_mallctl"),
    "duckdb": (None, "jemalloc", "_duckdb.cpython-*:duckdb_je_mallctl"),
    "mimalloc_3_in_an_object": (PLUGGED, "mimalloc", "private_mimalloc.so:mi_collect"),
}


class Host:
    def __init__(self, case, library):
        self.log = f"{BUILD}/wheels/{case}.log"
        if os.path.exists(self.log):
            os.unlink(self.log)
        env = {"PATH": "/usr/bin:/bin", "HOME": BUILD, "GIVEBACK_LOG": self.log, "GIVEBACK_FORMAT": "json",
               "_RJEM_MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1"}  # else polars' own thread returns it
        if library:
            env["LD_PRELOAD"] = BUILD + "/libgiveback.so"
        command = CASES[case][0] or [sys.executable, HERE + "/host.py", case]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if line != "ready\n":
            self.end()
            raise AssertionError(f"the host said {line!r} instead of ready, status {self.process.returncode}")

    def anon(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon:"))

    def release(self):
        self.process.send_signal(10)
        deadline = time.monotonic() + 45
        while time.monotonic() < deadline and self.process.poll() is None:
            if os.path.exists(self.log):
                with open(self.log) as log:
                    line = log.readline()
                if line.endswith("\n"):
                    return json.loads(line)
            time.sleep(0.01)
        raise AssertionError(f"no record, status {self.process.poll()}")

    def end(self):
        self.process.stdin.close()
        try:
            return self.process.wait(45)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def matches(pattern, call):
    front, star, back = pattern.partition("*")
    return call == pattern if not star else call.startswith(front) and call.endswith(back)


def check(case):
    _, name, call = CASES[case]
    bare = Host(case, False)
    try:
        time.sleep(1.5)
        kept = bare.anon()
    finally:
        bare.end()
    host = Host(case, True)
    try:
        before = host.anon()
        record = host.release()
        after = host.anon()
    finally:
        status = host.end()
    assert kept > after + KEPT, f"{kept >> 20} MiB kept without the library, {after >> 20} MiB after a release with it"
    assert before - after > KEPT, f"only {before >> 20} -> {after >> 20} MiB: {record}"
    entry = [a for a in record["allocators"] if a["name"] == name and matches(call, a["call"])]
    assert len(entry) == 1, f"no {name} via {call}: {record}"
    assert entry[0]["returned"] > KEPT and entry[0]["version"] and not entry[0]["error"], record
    assert abs(record["after"]["anon"] - after) < MIB, f"{after} outside, {record}"
    assert status == 0, f"the host ended with {status}"
    print(f"{case}: {before >> 20} -> {after >> 20} MiB, {name} {entry[0]['version']} via {entry[0]['call']}")


failed = 0
for case in CASES:
    try:
        check(case)
    except AssertionError as error:
        failed += 1
        print(f"FAILED {case}: {error}")
print(f"{len(CASES) - failed} passed, {failed} failed")
sys.exit(failed != 0)
