"""The Python worker of these tests; clients/typescript/test/work.ts is its twin."""

import asyncio
import os
import sys
from typing import Any

from plait_client import Context, Worker, WorkerSettings


def main() -> None:
    concurrency = int(os.environ.get("CONCURRENCY", "10"))
    work = WorkerSettings(
        queues=tuple(os.environ.get("QUEUES", "default").split(",")),
        concurrency=concurrency,
        claim_limit=int(os.environ.get("CLAIM_LIMIT", str(concurrency))),
        lease=5,
        heartbeat=0.25,
        wait=2,
        grace=5,
    )
    worker = Worker(work=work)

    @worker.handle("double")
    def double(payload: dict[str, Any], context: Context) -> dict[str, Any]:
        _say(f"began {context.job_id}")
        return {"doubled": 2 * payload["n"], "by": "python"}

    @worker.handle("stand")
    async def stand(payload: dict[str, Any], context: Context) -> None:
        await asyncio.to_thread(context.progress, {"standing": True})
        _say(f"began {context.job_id}")
        await asyncio.Event().wait()

    worker.run()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
