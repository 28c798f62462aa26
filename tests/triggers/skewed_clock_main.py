"""A process whose clock is wrong by the number of seconds in each line of its input:
`python -m tests.triggers.skewed_clock_main URL`.

Python's wall clocks are patched before plait is imported. The process runs a worker, and for each line it runs the leader's duties:
election, rescue, fire. It answers with a line of JSON.
"""

import asyncio
import datetime
import json
import sys
import time

import asyncpg  # noqa: F401 - compiled against the datetime that there is, so before it is replaced

_skew = 0.0
_time, _time_ns, _gmtime, _localtime = (
    time.time,
    time.time_ns,
    time.gmtime,
    time.localtime,
)  # clock: it is what is moved
_datetime = datetime.datetime


class Skewed(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
        return _datetime.fromtimestamp(_time() + _skew, tz)

    @classmethod
    def utcnow(cls) -> datetime.datetime:  # type: ignore[override]
        return _datetime.fromtimestamp(_time() + _skew, datetime.UTC).replace(tzinfo=None)


time.time = lambda: _time() + _skew
time.time_ns = lambda: _time_ns() + int(_skew * 1e9)
time.gmtime = lambda at=None: _gmtime(time.time() if at is None else at)  # clock: it is what is moved
time.localtime = lambda at=None: _localtime(time.time() if at is None else at)  # clock: it is what is moved
datetime.datetime = Skewed  # type: ignore[misc]


async def main(url: str) -> None:
    from plait import Plait
    from plait.leader.fire import Fire
    from plait.leader.promote import Promote
    from plait.runtime.logging import configure
    from plait.runtime.service import Stop
    from plait.runtime.settings import Settings
    from plait.worker.worker import Worker

    configure(level="error")
    app = Plait(url, settings=Settings(poll=0.02))

    @app.job
    async def add() -> None: ...

    store, stop = await app.store(), Stop()
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with asyncio.TaskGroup() as group:
        group.create_task(Worker(app).run(stop))
        while line := await lines.readline():
            global _skew
            _skew = float(line)
            election = await store.leader.elect("skewed", lease_s=30)
            rescued = await store.leader.rescue()
            await Promote().run(store)
            await Fire().run(store)
            off = Skewed.now(datetime.UTC).timestamp() - _time()
            print(json.dumps({"leads": election.leads, "lost": rescued.lost, "off": off}), flush=True)
        stop.request()
    await app.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
