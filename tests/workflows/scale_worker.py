"""A worker process for one queue that prints its peak memory at the end: `python -m tests.workflows.scale_worker URL QUEUE`."""

import asyncio
import sys
from pathlib import Path

import uvloop

from plait import Plait, collect_all, fan_out, fan_out_stream, sub, values
from plait.runtime.logging import configure
from plait.runtime.service import Signals, Stop, run_services
from plait.runtime.settings import Settings
from plait.worker.worker import Worker

app = Plait(settings=Settings(lease=30, poll=0.2, grace=5))


@app.job(queue="leaves")
async def leaf(n: int) -> int:
    return n


@app.job(queue="parents", retries=0)
async def gather_all(count: int) -> list[int]:
    got = values(await fan_out((sub(leaf, n) for n in range(count)), collect_all()))
    return [len(got), sum(got)]


@app.job(queue="parents", retries=0)
async def stream_all(count: int) -> list[int]:
    number, total, seen = 0, 0, bytearray(count)
    async for result in fan_out_stream(sub(leaf, n) for n in range(count)):
        assert result.value is not None
        assert not seen[result.value], "seen twice"
        seen[result.value] = 1
        number, total = number + 1, total + result.value
    return [number, total]


async def main() -> int:
    configure(form="json")
    url, queue = sys.argv[1:]
    app.target = Plait(url).target
    stop = Stop()
    with Signals(stop) as signals:
        print("ready", flush=True)
        await run_services([Worker(app, queues={queue: 100})], stop)
    await app.close()
    # Not getrusage, which also counts the memory of the process before exec.
    status = Path("/proc/self/status").read_text()
    print("megabytes", int(status.partition("VmHWM:")[2].split()[0]) // 1024, flush=True)
    return signals.exit_code


if __name__ == "__main__":
    uvloop.install()
    sys.exit(asyncio.run(main()))
