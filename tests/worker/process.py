"""A worker in a process of its own, to be killed: `python -m tests.worker.process URL [--no-leader]`. Says "ready" when it runs."""

import asyncio
import os
import sys
import time

from plait import Plait
from plait.leader.leader import Leader
from plait.leader.promote import Promote
from plait.leader.rescue import Rescue
from plait.runtime.logging import configure
from plait.runtime.service import Service, Signals, Stop, run_services
from plait.runtime.settings import Settings
from plait.worker.worker import Worker

app = Plait(settings=Settings(lease=3, heartbeat=0.3, poll=0.2, grace=float(os.environ.get("GRACE", "10"))))


@app.job(retries=2)
async def work(seconds: float) -> int:
    await asyncio.sleep(seconds)
    return os.getpid()


@app.job(retries=2)
async def block(seconds: float) -> int:
    time.sleep(seconds)  # sleep: a handler that blocks its loop is the point
    return os.getpid()


@app.job(retries=20)
async def poison() -> None:
    os._exit(9)


async def main() -> int:
    configure(form="json")
    url, *options = sys.argv[1:]
    app.target = Plait(url).target
    stop = Stop()
    services: list[Service] = [Worker(app, concurrency=200)]
    if "--no-leader" not in options:
        services.append(Leader(app, lease_s=1, duties=[Promote(), Rescue(every_s=0.2)]))
    with Signals(stop) as signals:
        print("ready", flush=True)
        await run_services(services, stop)
    await app.close()
    return signals.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
