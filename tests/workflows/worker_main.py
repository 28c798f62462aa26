"""A worker process that kills itself once at a given point: `python -m tests.workflows.worker_main URL DIRECTORY`.

The directory stores what must survive a kill: the points at which the process was killed, and how often each step ran.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from uuid import uuid4

from plait import Plait, Snooze, call, fan_out, sub, values

from ..restarting_workers import SETTINGS, serve

BOUNDARIES = (
    "before the first step",
    "between steps",
    "before suspend",
    "in suspend",
    "after suspend",
    "in resume",
    "at the end",
)
CHILDREN = 3

# No cached handlers: a handler that stays in memory is not unwound, so it does not reach this boundary.
app = Plait(settings=SETTINGS.model_copy(update={"cached_handlers": 0}))


def die_once(directory: str, case: str, here: str) -> None:
    """Kill this process with kill -9 the first time that this case reaches this point."""
    if case.rpartition(" ")[0] == here:
        mark = Path(directory) / f"died {case}"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def note(directory: str, what: str) -> None:
    with (Path(directory) / what).open("a") as file:
        file.write("x")


@app.job(retries=20)
async def child(n: int, directory: str, case: str) -> int:
    if case.startswith("after suspend") and not (Path(directory) / f"died {case}").exists():
        raise Snooze("50ms")  # otherwise the parent might not have to wait
    return n * 10


@app.job(retries=20)
async def parent(directory: str, case: str) -> list[str]:
    async def token(which: str) -> str:
        note(directory, f"{which} {case}")
        return f"{which}-{uuid4()}"

    die_once(directory, case, "before the first step")
    first = await call(token, "first")
    die_once(directory, case, "between steps")
    second = await call(token, "second")
    die_once(directory, case, "before suspend")
    if case.startswith("in suspend"):
        asyncio.get_running_loop().call_later(0.002, die_once, directory, case, "in suspend")
    try:
        results = await fan_out([sub(child, n, directory, case) for n in range(CHILDREN)])
    except Exception:
        raise
    except BaseException:
        die_once(directory, case, "after suspend")
        raise
    die_once(directory, case, "in resume")
    third = await call(token, "third")
    die_once(directory, case, "at the end")
    return [first, second, third, *map(str, values(results))]


if __name__ == "__main__":
    sys.exit(serve(app))
