import asyncio
from plait import Plait, call, sleep, wait_for_signal
from plait.leader.leader import Leader
from plait.leader.resume import Resume
from plait.leader.promote import Promote
from tests.worker.conftest import Running
import os

async def noop(n: int) -> int:
    return n

async def test_x(app: Plait, running: Running) -> None:
    runs = {}
    where = {}

    @app.job(cancel_grace="1h")
    async def m(i: int) -> None:
        try:
            await wait_for_signal("ok")
        except asyncio.CancelledError:
            where[i] = "canceled"
            await call(noop, 1)
            where[i] = "called"
            await sleep(1)
            where[i] = "slept"
            raise

    async with running(app) as r:
        handles = []
        async def one(i):
            h = await m.enqueue(i)
            await asyncio.sleep(1)
            await h.cancel()
            return h
        ts = []
        for i in range(60):
            ts.append(asyncio.create_task(one(i)))
            await asyncio.sleep(0.05)
        hs = [await t for t in ts]
        store = await app.store()
        for _ in range(60):
            await store.leader.resume()
            await asyncio.sleep(0.1)
        left = [(i, str(await h.status()), where.get(i)) for i, h in enumerate(hs) if str(await h.status()) != "canceled"]
        print(left)
        if left:
            import gc
            from plait.sdk.durable import Durable
            for o in gc.get_objects():
                if isinstance(o, Durable) and not o._gone and o.branches.main.task and not o.branches.main.task.done():
                    d = o.delivery
                    print("waits", d.waits, "order", d._order, "due", d._due, "asking", d._asking, "tick", d._tick, "hist", d.history.pending if d.history else None, d.history.replaying, "susp", o.holder.suspended, "over", o.holder.over, "held", d._held, "asked", d._asked, "abandoned", d.abandoned, "gone", o._gone)
                    o.branches.main.task.print_stack()
                    break
    assert not left
