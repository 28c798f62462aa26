"""A command that is hard to end: it forks, calls setsid, forks again, and ignores SIGTERM: `python stubborn_command.py DIRECTORY SECONDS`.

Each of its processes writes its pid to the directory.
"""

import os
import signal
import sys
import time
from pathlib import Path

directory, seconds = Path(sys.argv[1]), float(sys.argv[2])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
(directory / str(os.getpid())).touch()
print("up", flush=True)
deadline = time.monotonic() + seconds
while time.monotonic() < deadline:
    time.sleep(0.05)  # sleep: it is what is tested
