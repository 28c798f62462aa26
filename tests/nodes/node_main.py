"""One node of a cluster in its own process, to be killed, stopped and disconnected: `python -m tests.nodes.node_main URL NODE`.

Parts and actions write to a table outside plait, in a separate transaction without fencing, so the table shows what really ran, and
how often.
"""

import asyncio
import os
import random
import sys

import asyncpg

from plait import Backoff, Nodes, Plait, current
from plait.leader.leader import Leader
from plait.leader.promote import Promote
from plait.leader.rescue import Rescue
from plait.leader.resume import Resume
from plait.runtime.logging import configure
from plait.runtime.service import Signals, Stop, run_services
from plait.runtime.settings import Settings
from plait.sdk.steps import transaction
from plait.worker.worker import Worker

LEASE_S = 1.5
AGAIN = Backoff(base=0.1, max=1)
app = Plait(settings=Settings(lease=LEASE_S, heartbeat=0.3, poll=0.2, grace=5))


async def work() -> str:
    await asyncio.sleep(random.uniform(0, 0.2))
    return current().node or "?"


@app.node_job(
    quorum="majority", quorum_timeout="4s", on_timeout="fail", on_node_failure="tolerate", retries=20, backoff=AGAIN
)
async def strict(n: int) -> str:
    return await work()


@app.node_job(
    quorum="majority", quorum_timeout="1s", on_timeout="proceed", on_node_failure="tolerate", retries=20, backoff=AGAIN
)
async def lenient(n: int) -> str:
    return await work()


async def act(nodes: Nodes[str], n: int) -> int:
    """The effect, in the job's own transaction: exactly once for each job, whatever happens to who leads."""
    job, holder = current().job_id, f"{current().node}:{os.getpid()}"
    await asyncio.sleep(random.uniform(0, 0.1))

    async def effect(connection: asyncpg.Connection) -> int:
        done = sum(result.ok for result in nodes)
        await connection.execute(
            "insert into effects (job_id, attempt, holder, done, needed, rule) values ($1, $2, $3, $4, $5, $6)",
            job, current().attempt, holder, done, nodes.needed, nodes.rule,
        )  # fmt: skip
        return done

    return await transaction(effect)


@strict.on_leader
async def strictly(nodes: Nodes[str], n: int) -> int:
    return await act(nodes, n)


@lenient.on_leader
async def leniently(nodes: Nodes[str], n: int) -> int:
    return await act(nodes, n)


async def main() -> int:
    configure(form="json", level="warning")
    url, node = sys.argv[1:]
    app.target = Plait(url).target
    stop = Stop()
    leader = Leader(app, lease_s=0.8, duties=[Promote(), Resume(), Rescue(every_s=0.2)])
    with Signals(stop) as signals:
        await run_services([Worker(app, node=node, concurrency=50), leader], stop)
    await app.close()
    return signals.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
