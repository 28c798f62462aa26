"""Derive statistical units: refresh batches in parallel, then analyze tables once and derive reports once.

`derive_statistical_unit` spawns children and returns. The job then waits, without a worker, until all children have ended. Its follow-ups are
enqueued in the transaction in which it succeeds, and run once, even if several derivations end in the meantime. `plait queues set analytics --mode serial`
allows one derivation at a time, while its batches run on every worker. In SQL, a procedure or a trigger can call `plait.spawn(…)` and
`plait.after(…)`.

Prints:

    derived 12 enterprises in 4 batches
    analyzed, reported
"""

import asyncio

from plait import Plait, after, current, spawn, spawn_sibling

app = Plait()
BATCH = 3
happened: list[str] = []


@app.job(queue="analytics", priority=20)
async def refresh_batch(enterprises: list[int]) -> None:
    if len(enterprises) > BATCH:  # too many for one batch, so a sibling processes the rest
        await spawn_sibling(refresh_batch, enterprises[BATCH:])
        enterprises = enterprises[:BATCH]
    current().info(enterprises=len(enterprises), batches=1)


@app.job(queue="analytics")
async def analyze_tables() -> None:
    happened.append("analyzed")


@app.job(queue="analytics")
async def derive_reports() -> None:
    happened.append("reported")


@app.job(queue="analytics", priority=10)
async def derive_statistical_unit(enterprises: list[int]) -> None:
    middle = len(enterprises) // 2
    await spawn(refresh_batch, enterprises[:middle])
    await spawn(refresh_batch, enterprises[middle:])
    await after(analyze_tables, dedupe_key="analyze_tables")
    await after(derive_reports, dedupe_key="derive_reports")


async def main() -> None:
    handle = await derive_statistical_unit.enqueue(list(range(12)))
    await handle.result(timeout="1m")
    info = await handle.tree_info()
    print(f"derived {info['enterprises']} enterprises in {info['batches']} batches")
    while len(happened) < 2:  # noqa: ASYNC110 - the follow-ups run after the awaited job
        await asyncio.sleep(0.05)
    print(*sorted(happened), sep=", ")


if __name__ == "__main__":
    asyncio.run(main())
