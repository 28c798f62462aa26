"""A leader that fires schedules, to be stopped and continued: `python -m tests.triggers.leader_main URL LEASE_S`."""

import asyncio
import sys

from plait import Plait
from plait.leader.fire import Fire
from plait.leader.leader import Leader
from plait.runtime.logging import configure
from plait.runtime.service import Stop


async def main(url: str, lease_s: float) -> None:
    configure(level="error")
    await Leader(Plait(url), lease_s=lease_s, duties=[Fire()]).run(Stop())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
