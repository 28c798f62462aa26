"""A worker process that runs random programs, to be killed: `python -m tests.workflows.program_worker URL DIRECTORY`.

Each step adds a line to a file, which survives a kill.
"""

import asyncio
import os
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

from plait import Plait, continue_as_new
from plait.runtime.logging import configure
from plait.runtime.service import Signals, Stop, run_services
from plait.sdk.durable_runtime import DurableRuntime
from plait.worker import worker as worker_module
from plait.worker.worker import Worker

from ..restarting_workers import SETTINGS
from .programs import Program, run_job
from .test_programs import Durably


class StoppedClock(DurableRuntime):
    """The database's clock stands still between two moments, and so do deadlines."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "real_time": False})


class Effects:
    """Counts the effects of steps in a file, like `Counter`."""

    def __init__(self, directory: Path, seed: int) -> None:
        self._file = os.open(directory / f"effects {seed}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def __getitem__(self, name: str) -> int:
        return 0

    def __setitem__(self, name: str, _: int) -> None:
        os.write(self._file, f"{name}\n".encode())


class Slowly(Durably):
    """Steps take a while, so that kills interrupt some."""

    async def _step(self, name: str) -> str:
        result = await super()._step(name)
        await asyncio.sleep(random.random() * 0.05)
        return result


def programs_app(target: str, directory: Path) -> Plait:
    app = Plait(target, settings=SETTINGS.model_copy(update={"lease": 3600}))
    effects: dict[int, Effects] = {}

    @app.job(queue="leaves", retries=50)
    async def leaf(value: int) -> int:
        return value

    @app.job(retries=50)
    async def program(seed: int, code: Program) -> Any:
        if seed not in effects:
            effects[seed] = Effects(directory, seed)
        ops = Slowly(effects[seed], leaf)  # type: ignore[arg-type]
        return await run_job(code, ops, partial(continue_as_new, seed))

    return app


async def serve() -> int:
    configure(form="json")
    worker_module.DurableRuntime = StoppedClock  # type: ignore[attr-defined]
    app = programs_app(sys.argv[1], Path(sys.argv[2]))
    stop = Stop()
    with Signals(stop) as signals:
        await run_services([Worker(app, concurrency=100)], stop)
    await app.close()
    return signals.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(serve()))
