"""A worker of one release, from its own source: `python -m tests.migrations.release_worker URL`, with that source first on the path.

Prints "ready" when it runs; ends on SIGTERM. It uses only the interface that every release has: `Plait`, `@app.job`, the worker.
"""

import asyncio
import sys

from plait import Plait
from plait.leader.leader import Leader
from plait.runtime.logging import configure
from plait.runtime.service import Signals, Stop, run_services
from plait.runtime.settings import Settings
from plait.worker.worker import Worker

app = Plait(settings=Settings(lease=5, heartbeat=1, poll=0.2, grace=5))


@app.job(retries=0)
async def add(a: int, b: int) -> int:
    await asyncio.sleep(0.005)
    return a + b


async def main() -> int:
    configure(form="json")
    app.target = Plait(sys.argv[1]).target
    stop = Stop()
    with Signals(stop) as signals:
        print("ready", flush=True)
        await run_services([Worker(app, concurrency=20), Leader(app)], stop)
    await app.close()
    return signals.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
