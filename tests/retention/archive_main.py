"""The leader's retention in its own process, to be killed between archive and commit: `python -m tests.retention.archive_main URL DIRECTORY`.

It kills itself when the first batch is on disk, before the transaction that deletes its jobs commits.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from plait.leader.archive import Archive
from plait.leader.prune import Prune
from plait.runtime.object_storage import Directory
from plait.store import Store
from plait.store.leader import Retention


class DyingArchive(Archive):
    async def put(self, lines: Sequence[str], now: datetime) -> None:
        await super().put(lines, now)
        os.kill(os.getpid(), 9)


async def main() -> None:
    url, directory = sys.argv[1:]
    store = await Store.open(url)
    await Prune(Retention(canceled=timedelta(days=1)), DyingArchive(Directory(Path(directory)))).run(store)


if __name__ == "__main__":
    asyncio.run(main())
