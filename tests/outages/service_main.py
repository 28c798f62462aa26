"""One service in its own process: `python -m tests.outages.service_main URL worker|leader|api`. Prints the API's address, or "ready"."""

import asyncio
import os
import sys
from pathlib import Path

from plait import Plait
from plait.api.service import Api
from plait.leader.leader import Leader
from plait.runtime.logging import configure
from plait.runtime.service import Service, Signals, Stop, run_services
from plait.runtime.settings import Settings
from plait.worker.worker import Worker

app = Plait(
    settings=Settings(
        lease=30,  # so that no slow machine loses it
        heartbeat=float(os.environ.get("HEARTBEAT", "0.5")),
        poll=0.2,
        grace=2,
        api_port=0,
        statement_timeout=1,  # so that nobody waits for long here
    )
)


@app.job(retries=2)
async def wait_for(path: str) -> int:
    while not Path(path).exists():
        await asyncio.sleep(0.02)
    return os.getpid()


async def main() -> int:
    configure(form="json")
    url, kind = sys.argv[1:]
    app.target = Plait(url).target
    stop = Stop()
    services: dict[str, Service] = {"worker": Worker(app), "leader": Leader(app), "api": (api := Api(app))}
    api.listen()
    with Signals(stop) as signals:
        print(api.url if kind == "api" else "ready", flush=True)
        await run_services([services[kind]], stop)
    await app.close()
    return signals.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
