"""SIZE [all]: prints RssAnon in KiB before and after the call that leaves garbage, and once more after a line on stdin.
With `all` nothing of it stays in use, so that what a thread keeps for itself is what is left."""
import sys

import hooked

before = hooked.anon()
hooked.load(int(sys.argv[1]), 128 << 20, 1 << 30 if "all" in sys.argv else 64)
print("call", before, hooked.anon(), flush=True)
print("ready", flush=True)
sys.stdin.readline()
print("later", hooked.anon(), flush=True)
