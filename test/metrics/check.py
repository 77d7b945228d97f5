"""check.py BUILD: hosts that give back, and their metrics as a collector reads them. Ends with "N passed, N failed".

The OpenMetrics parser is strict: it refuses a family that is interleaved, a unit or suffix that does not fit, a series that comes
twice, a text without its end. What it reads must be what the records in the log add up to."""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as classic

BUILD = os.path.abspath(sys.argv[1])
LIBRARY = f"{BUILD}/libgiveback.so"
passed, failed = 0, 0


def check(what, right, more=""):
    global passed, failed
    if right:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what} {more}")


def until(what, condition, seconds=45):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"check.py: not after {seconds} s: {what}\n0 passed, 1 failed")
        time.sleep(0.005)


def start(folder, program, *arguments, **environment):
    host = subprocess.Popen([program, *arguments], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={
        "PATH": "/usr/bin:/bin", "LD_PRELOAD": LIBRARY, "GIVEBACK_LOG": f"{folder}/log.%p", "GIVEBACK_FORMAT": "json",
        "GIVEBACK_METRICS": f"{folder}/m.%p.prom", **environment})
    until("ready", lambda: host.stdout.readline() in (b"ready\n", b""))
    return host


def records(folder, pid):
    path = f"{folder}/log.{pid}"
    with open(path) if os.path.exists(path) else open(os.devnull) as log:
        return [r for r in map(json.loads, log) if "action" in r]


def samples(text, parser):
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in parser(text) for s in family.samples}


def read(path):
    with open(path, newline="") as file:
        return file.read()


def total(found, name, **labels):
    return sum(value for (sample, pairs), value in found.items() if sample == name and labels.items() <= dict(pairs).items())


def wait_releases(folder, pid, kind, n):
    path = f"{folder}/m.{pid}.prom"
    until(f"{n} releases by {kind}", lambda: os.path.exists(path) and
          total(samples(read(path), open_metrics), "giveback_releases_total", kind=kind) >= n)
    return samples(read(path), open_metrics)


def agrees(folder, pid, found):
    log = records(folder, pid)
    releases = [r for r in log if r["action"] == "release"]
    returned = sum(max(r["returned"], 0) for r in releases)
    check("releases", total(found, "giveback_releases_total") == len(releases), f"{found} {len(releases)}")
    check("marks", total(found, "giveback_marks_total") == len(log) - len(releases), str(found))
    check("returned bytes", total(found, "giveback_returned_bytes_total") == returned, str(found))
    check("seconds", abs(total(found, "giveback_release_seconds_total") - sum(r["seconds"] for r in releases)) < 1e-4, str(found))
    check("came back", total(found, "giveback_came_back_bytes_total") == sum(r["came_back"] or 0 for r in releases), str(found))
    check("faults", total(found, "giveback_faults_total") == sum(r["faults"] or 0 for r in releases), str(found))
    check("merged", total(found, "giveback_merged_events_total") == sum(r["merged"] for r in log), str(found))
    check("RssAnon after", total(found, "giveback_rss_anon_after_bytes") == log[-1]["after"]["anon"], str(found))
    for allocator in releases[-1]["allocators"]:
        for figure, key in (("held", "held_after"), ("live", "live")):
            value = total(found, f"giveback_allocator_{figure}_bytes", allocator=allocator["name"], object=allocator["object"])
            check(f"{figure} of {allocator['name']}", value == (allocator[key] or 0), f"{value} {allocator}")


def signalled(folder, allocator):
    preload = f"{LIBRARY}:{allocator}" if allocator else LIBRARY
    host = start(folder, f"{BUILD}/victim/hold", LD_PRELOAD=preload, GIVEBACK_ON="rss:1T;every:1h->mark")
    for n in range(1, 4):
        host.send_signal(signal.SIGUSR1)
        found = wait_releases(folder, host.pid, "signal", n)
    agrees(folder, host.pid, found)
    host.communicate()
    return host.pid


def called(folder):
    host = start(folder, f"{BUILD}/victim/calls", "threads")
    agrees(folder, host.pid, wait_releases(folder, host.pid, "call", 160))
    host.communicate()
    return host.pid


def awkward_name(folder):
    """The name as it was called is what the labels have."""
    name = 'a "quoted\\" \n{name},='
    os.symlink(f"{BUILD}/victim/hold", f"{folder}/{name}")
    host = start(folder, f"{folder}/{name}")
    host.send_signal(signal.SIGUSR1)
    found = wait_releases(folder, host.pid, "signal", 1)
    check("the program's name", {dict(labels)["program"] for _, labels in found} == {name}, str(found))
    host.communicate()
    return host.pid


def main():
    with tempfile.TemporaryDirectory() as folder:
        pids = [signalled(folder, allocator) for allocator in ("", "libjemalloc.so.2", "libtcmalloc_minimal.so.4")]
        pids += [called(folder), awkward_name(folder)]
        seen = {}
        for pid in pids:
            text = read(f"{folder}/m.{pid}.prom")
            check("the older text format has the same samples", samples(text, classic) == samples(text, open_metrics), text)
            for series in samples(text, open_metrics):
                check("a series stands in one file", series not in seen, str(series))
                seen[series] = pid
        check("nothing is left beside them", len(glob.glob(f"{folder}/m.*")) == len(pids), str(os.listdir(folder)))
        cut = read(f"{folder}/m.{pids[0]}.prom")[:-6]
        try:
            list(open_metrics(cut))
            check("the parser refuses a text without its end", False)
        except ValueError:
            check("the parser refuses a text without its end", True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(bool(failed))


main()
