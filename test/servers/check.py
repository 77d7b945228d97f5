#!/usr/bin/env python3
"""Real servers that nobody changed, watched by the library and answering requests meanwhile.

    check.py BUILD [SERVER...]     (make check-servers)

Each runs bare and under the library, with events that fire all the time (`every`), once it is quiet (`settle`), asked by its
control socket (`giveback release`), and with SIGUSR1 left to whoever owns it. No request may fail, the answers are the same, memory that was let go of is given back
without a signal, and the end is the same.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(TOP, "test", "workload"))
sys.dont_write_bytecode = True
import driver  # noqa: E402


def nginx(folder, port):
    with open(f"{folder}/nginx.conf", "w", encoding="ascii") as config:
        config.write(f"daemon off; worker_processes 2; pid {folder}/pid; error_log {folder}/error;\n"
                     f"events {{}} http {{ access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};\n"
                     f"fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};\n"
                     f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 'ok'; }} }} }}\n")
    return ["/usr/sbin/nginx", "-e", f"{folder}/error", "-c", f"{folder}/nginx.conf"]


def gunicorn(folder, port):
    return [sys.executable, "-m", "gunicorn", "--workers", "2", "--bind", f"127.0.0.1:{port}", "--worker-tmp-dir", folder,
            "--control-socket", f"{folder}/control", "--chdir", HERE, "holder:app"]


# `usr1`: the program has an action of its own for SIGUSR1, and lives on (nginx and gunicorn reopen their logs, Node opens
# its debugger's port). `settles`: it has let go of memory before its first request.
SERVERS = {
    "nginx": {"argv": nginx, "usr1": True},
    "gunicorn": {"argv": gunicorn, "usr1": True, "settles": True},
    "redis": {"argv": lambda folder, port: ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder,
                                            "--save", "", "--appendonly", "no"]},
    "java": {"argv": lambda _, port: ["java", "-Xmx256m", f"{HERE}/Holder.java", str(port)]},
    "node": {"argv": lambda _, port: ["node", f"{HERE}/holder.js", str(port)], "usr1": True},
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def tree(pid):
    """The process and its descendants."""
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    return [pid, *(p for child in children for p in tree(int(child)))]


def tree_anon(pid):
    total = 0
    for member in tree(pid):
        try:
            with open(f"/proc/{member}/statm", encoding="ascii") as file:
                words = file.read().split()
            total += (int(words[1]) - int(words[2])) * os.sysconf("SC_PAGESIZE")
        except (OSError, IndexError):
            pass
    return total


class Server:
    def __init__(self, name, library=None, on="", log=None):
        self.folder, self.port, self.kind = tempfile.mkdtemp(prefix="giveback-servers."), free_port(), SERVERS[name]
        environment = {"GIVEBACK_ON": on, "GIVEBACK_DIR": f"{self.folder}/sockets", "GIVEBACK_INTERVAL": "300ms", "GIVEBACK_LOG": log or "none", "GIVEBACK_FORMAT": "json"}
        self.host = driver.Host(self.kind["argv"](self.folder, self.port), [library] if library else (), environment)
        end = time.monotonic() + driver.DEADLINE
        while not self.listens():
            if self.host.process.poll() is not None or time.monotonic() > end:
                raise driver.Failure(f"{name} does not listen: {self.host.last_words()}")
            time.sleep(driver.POLL)

    def listens(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def load(self, seconds):
        """What went wrong, and how many requests went well."""
        if self.kind is SERVERS["redis"]:
            done = subprocess.run(["redis-benchmark", "-p", str(self.port), "-n", "200000", "-r", "100000", "-d", "500", "-t", "set,get",
                                   "--csv"], capture_output=True, text=True, check=False)
            return (done.stderr.strip() or None) if done.returncode == 0 else f"status {done.returncode}", 200000
        done = subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}s", f"http://127.0.0.1:{self.port}/"], capture_output=True, text=True,
                              check=False)
        wrong = re.search(r"Socket errors:.*|Non-2xx.*", done.stdout)
        count = re.search(r"(\d+) requests in", done.stdout)
        return (wrong[0] if wrong else None if done.returncode == 0 else done.stderr), int(count[1]) if count else 0

    def stop(self):
        self.host.signal(signal.SIGTERM)
        status = self.host.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        return status


def asked(server, build):
    """Asks it ten times while it answers requests: what went wrong there, whether each answer was a record, and what the requests say."""
    said = []
    where = dict(os.environ, GIVEBACK_DIR=f"{server.folder}/sockets")  # redis and nginx overwrite their environment

    def ask():
        for _ in range(10):
            done = subprocess.run([f"{build}/giveback", "release", str(server.host.pid)], capture_output=True, text=True, check=False,
                                  env=where)
            said.append(done.stdout if done.returncode == 0 and ": socket: " in done.stdout else done.stderr + "?")

    asking = threading.Thread(target=ask)
    asking.start()
    wrong, count = server.load(1)
    asking.join()
    return [line for line in said if line.endswith("?")], wrong, count


def usr1(server):
    """Does it live on, and answer, after its own SIGUSR1?"""
    server.host.signal(signal.SIGUSR1)
    wrong, count = server.load(1)
    return (server.host.process.poll(), wrong, count > 0)


def check(tally, build, name, folder):
    log, library = f"{folder}/{name}.log", f"{build}/libgiveback.so"
    with tally.part(f"{name}: bare"):
        bare = Server(name)
        wrong_bare, _ = bare.load(2)
        time.sleep(4)
        bare_anon = tree_anon(bare.host.pid)
        lives = usr1(bare) if bare.kind.get("usr1") else None
        status = bare.stop()
        tally.check(f"{name}: bare, no request fails", wrong_bare is None, wrong_bare)

        if bare.kind.get("settles"):
            settled = Server(name, library, "settle:1s", log)
            end = time.monotonic() + 60  # it is still loading: one record for each of the two workers
            while sum(r.get("event") == "settle:1s" for r in driver.Records.read(log)) < 2 and time.monotonic() < end:
                time.sleep(driver.POLL)
            anon = tree_anon(settled.host.pid)
            tally.check(f"{name}: settles by itself after its start", anon < bare_anon * 0.7, f"{anon} of {bare_anon} bytes")
            settled.stop()
        watched = Server(name, library, "socket;settle:1s;idle:1s;every:300ms;rss:10M", log)
        wrong, count = watched.load(3)
        tally.check(f"{name}: no request fails while releases go on", wrong is None and count > 0, f"{wrong}, {count} requests")
        refused, wrong, count = asked(watched, build)
        tally.check(f"{name}: releases by its control socket", not refused, f"{refused}")
        tally.check(f"{name}: no request fails meanwhile", wrong is None and count > 0, f"{wrong}, {count} requests")
        time.sleep(4)
        if lives:
            tally.check(f"{name}: SIGUSR1 is the program's own", usr1(watched) == lives, f"{lives}")
        wrong, count = watched.load(1)
        tally.check(f"{name}: and none after it", wrong is None and count > 0, f"{wrong}, {count} requests")
        end = watched.stop()
        tally.check(f"{name}: ends as it does alone", end == status, f"{end}, alone {status}")
        events = {record.get("event") for record in driver.Records.read(log)}
        print(f"{name}: {', '.join(sorted(e for e in events if e)) or 'no event that gave back a MiB'}; bare {bare_anon / 1e6:.0f} MB", flush=True)


def run():
    build, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(SERVERS)
    tally = driver.Tally()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            check(tally, build, name, folder)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(driver.main(run))
