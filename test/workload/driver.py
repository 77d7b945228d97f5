"""What the checks over the workload share: hosts that are started, watched and stopped from outside, and a tally.

Nothing here trusts the library: memory is read from /proc/PID/status by this process, and the records are only compared
with that. Waiting is always for an event (a line, a record, an exit) with a deadline that is far beyond what a loaded
machine needs.
"""
import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

DEADLINE = 300.0  # seconds that anything may take before it counts as hung
POLL = 0.02       # between two looks at a file or at /proc, where there is no event to wait for
MB = 1_000_000

ALLOCATORS = {
    "glibc": None,
    "tcmalloc_minimal": "libtcmalloc_minimal.so.4",
    "tcmalloc": "libtcmalloc.so.4",
    "jemalloc": "libjemalloc.so.2",
    "mimalloc": "libmimalloc.so.2",
}


class Failure(Exception):
    """Something that a check waited for did not come."""


def allocators(tally):
    """(name, [path] or []) of each allocator that is installed; the others are counted as skipped."""
    with contextlib.suppress(OSError):
        cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        known = dict(re.findall(r"^\s+(\S+) \(libc6,[^)]*\) => (\S+)$", cache, re.M)[::-1])
        for name, soname in ALLOCATORS.items():
            if soname is None:
                yield name, []
            elif soname in known:
                yield name, [known[soname]]
            else:
                tally.skip(name, f"{soname} is not installed")


class Tally:
    """Counts checks; prints one line for each that fails or is skipped, and the closing line."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, what, good, seen=""):
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"failed: {what}: {seen}", flush=True)
        return good

    def skip(self, what, why):
        self.skipped += 1
        print(f"skipped: {what}: {why}", flush=True)

    @contextlib.contextmanager
    def part(self, what):
        """A run of checks: one that hangs, dies or cannot be read is a failure of its own, and the next part goes on."""
        try:
            yield
        except (Failure, OSError, subprocess.SubprocessError) as error:
            self.check(what, False, str(error))

    def finish(self):
        """Prints the closing line and returns the exit status."""
        print(f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else ""))
        return 0 if self.failed == 0 and self.passed > 0 else 1


class Host:
    """One process under test. Its stdout is followed line by line, its stderr goes where `errors` says."""

    running = []

    def __init__(self, argv, preload=(), environment=None):
        variables = {k: v for k, v in os.environ.items() if not k.startswith("GIVEBACK") and k != "LD_PRELOAD"}
        if preload:
            variables["LD_PRELOAD"] = ":".join(preload)
        variables.update(environment or {})
        self.process = subprocess.Popen(argv, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, bufsize=1)
        Host.running.append(self)
        self.pid = self.process.pid
        self.lines = queue.SimpleQueue()
        self.errors = []
        self.readers = [threading.Thread(target=self._follow, args=(self.process.stdout, self.lines.put), daemon=True),
                        threading.Thread(target=self._follow, args=(self.process.stderr, self.errors.append), daemon=True)]
        for reader in self.readers:
            reader.start()

    def _follow(self, stream, take):
        for line in stream:
            take(line.rstrip("\n"))
        if stream is self.process.stdout:
            take(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def wait_line(self, pattern):
        """The match of the first line from here on that has the pattern."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise Failure(f"no line with '{pattern}' after {DEADLINE:.0f} s") from None
            if line is None:
                raise Failure(f"no line with '{pattern}': exit status {self.process.wait()}, {self.last_words()}")
            if found := re.search(pattern, line):
                return found

    def last_words(self):
        return "stderr: " + (" | ".join(self.errors[-3:]) or "empty")

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def status(self, key):
        """A field of /proc/PID/status, as text."""
        with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return line.split(":", 1)[1].strip()
        raise Failure(f"/proc/{self.pid}/status has no {key}: {self.last_words()}")

    def anon(self):
        """RssAnon in bytes."""
        return int(self.status("RssAnon").split()[0]) * 1024

    def catches(self, number):
        return bool(int(self.status("SigCgt"), 16) >> number - 1 & 1)

    def least_anon(self, seconds):
        """The least RssAnon that is seen over this time: what an idle process gives back by itself."""
        end = time.monotonic() + seconds
        least = self.anon()
        while time.monotonic() < end:
            time.sleep(POLL)
            least = min(least, self.anon())
        return least

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        """The exit status."""
        try:
            status = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            raise Failure(f"still runs after {DEADLINE:.0f} s") from None
        for reader in self.readers:
            reader.join(DEADLINE)
        return status

    def stop(self):
        """Ends the process if it still runs; by force if it will not go."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self in Host.running:
            Host.running.remove(self)


class Records:
    """The records that a host writes to a GIVEBACK_LOG file as JSON Lines."""

    def __init__(self, path):
        self.path = path
        self.environment = {"GIVEBACK_LOG": path, "GIVEBACK_FORMAT": "json"}
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    @staticmethod
    def read(path):
        with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
        return []

    def all(self):
        return self.read(self.path)

    def wait(self, host, count):
        """The record number `count`, from 1."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            records = self.all()
            if len(records) >= count:
                return records[count - 1]
            if host.process.poll() is not None:
                raise Failure(f"exit status {host.process.poll()} before record {count}, {host.last_words()}")
            time.sleep(POLL)
        raise Failure(f"no record {count} after {DEADLINE:.0f} s")


def release(host, records):
    """Asks by SIGUSR1; returns (RssAnon before, record, RssAnon after), the figures read here, from outside."""
    if not host.catches(signal.SIGUSR1):
        raise Failure("no handler for SIGUSR1: it would kill")  # the library is not there
    count = len(records.all())
    before = host.anon()
    host.signal(signal.SIGUSR1)
    record = records.wait(host, count + 1)
    return before, record, host.anon()


def check_truth(tally, what, before, record, after):
    """The record's figures against those that were read from outside around it, while the host was idle."""
    for side, outside in (("before", before), ("after", after)):
        inside = record[side]["anon"]
        tally.check(f"{what}: record's {side} agrees with /proc within 1 MB", inside is not None and abs(inside - outside) <= MB,
                    f"record {inside}, outside {outside}")
    tally.check(f"{what}: returned is before less after", record["returned"] == record["before"]["anon"] - record["after"]["anon"],
                f"{record['returned']} of {record['before']['anon']} and {record['after']['anon']}")
    tally.check(f"{what}: the event is named", record["event"] == "signal:USR1" and record["pid"] > 0, f"{record['event']}")


def print_table(rows):
    """Columns as wide as they need, the first and the last to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    last = len(widths) - 1
    for row in rows:
        print("  ".join(c.ljust(w) if i in (0, last) else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())


def main(run):
    """Runs a check's main function; whatever way it ends, no host that it started is left."""
    def stop(number, _):
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, stop)
    try:
        return run()
    except KeyboardInterrupt:
        return 130
    finally:
        for host in list(Host.running):
            host.stop()
