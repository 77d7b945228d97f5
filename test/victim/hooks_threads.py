"""Eight threads in hooked functions at once, and fork, unshare and exit inside one."""
import ctypes
import os
import sys
import threading

import hooked


def turn():
    for _ in range(40):
        if hooked.down(5) or hooked.add(1, 2) != 6:
            print("wrong")


def own_threads():
    """Threads of the program that the kernel still lists: a joined one may be there for a moment more."""
    for task in os.listdir("/proc/self/task"):
        try:
            with open("/proc/self/task/%s/comm" % task) as file:
                yield from (name for name in file if name.startswith("python"))
        except OSError:
            pass


print("ready", flush=True)
threads = [threading.Thread(target=turn) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
while len(list(own_threads())) > 1:
    pass
print("forked", hooked.forks())
print("alone", hooked.alone())
ctypes.set_errno(77)
hooked.down(3)
print("errno", ctypes.get_errno())
try:
    hooked.leave(3)
except SystemExit as leaving:
    print("leaving", leaving.code)
sys.stdout.flush()
child = os.fork()
if child == 0:
    hooked.leave(4)
print("child", os.waitpid(child, 0)[1] >> 8, flush=True)
hooked.leave(5)
