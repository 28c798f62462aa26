"""Processes that are killed with kill -9 while they emit and dispatch events: `python -m tests.triggers.dispatch_main URL LIVES SEED`.

Each process is forked from this one, which never connects. It emits one event in a transaction that commits and one in a
transaction that does not, dispatches, and kills itself at a random point. Prints how many processes were killed.
"""

import asyncio
import contextlib
import os
import random
import signal
import sys
from collections.abc import Awaitable

from plait.leader.dispatch import Dispatch
from plait.store import Store


async def live(url: str, chance: random.Random) -> None:
    store = await Store.open(url, max_connections=3)
    connection = await store.database.connect()
    async with connection.transaction():
        await connection.execute("select plait.emit('e')")
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("select plait.emit('e', '{\"rolled\": \"back\"}')")
    work: list[Awaitable[object]] = [Dispatch().run(store), Dispatch().run(store)]
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*work), chance.uniform(0, 0.012))
    os.kill(os.getpid(), signal.SIGKILL)


def main(url: str, lives: int, seed: int) -> None:
    killed = 0
    for number in range(lives):
        child = os.fork()
        if child == 0:
            asyncio.run(live(url, random.Random(seed + number)))
            os._exit(0)
        killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    print(killed)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
