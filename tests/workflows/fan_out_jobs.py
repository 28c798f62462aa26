"""A job with a fan-out whose children are controlled by their payload, for the tests of fan-outs."""

import asyncio
from typing import Any

from plait import (
    FanOutError,
    PermanentError,
    Plait,
    Skip,
    Strategy,
    collect_all,
    fail_fast,
    fan_out,
    quorum,
    sub,
    threshold,
    values,
)

STRATEGIES: dict[str, Strategy] = {
    "fail_fast": fail_fast(),
    "collect_all": collect_all(),
    "half": threshold(0.5),
    "two": quorum(2),
    "majority": quorum("majority"),
}


class FanOutJobs:
    """A parent whose fan-out a test configures. The payload of a child is a number that it returns, or "fail", "skip" or "hang"."""

    def __init__(self, app: Plait) -> None:
        self.app = app
        self.options: dict[str, Any] = {}
        self.subs: list[Any] = []
        self.seen: list[Any] = []

        @app.job(name="child", retries=0)
        async def child(do: int | str) -> int:
            if do == "fail":
                raise PermanentError("as told")
            if do == "skip":
                raise Skip("nothing to do")
            if do == "hang":
                await asyncio.Event().wait()
            return int(do)

        @app.job(name="parent", retries=0)
        async def parent(strategy: str) -> list[int]:
            try:
                results = await fan_out(self.subs or [], STRATEGIES[strategy], **self.options)
            except FanOutError as error:
                self.seen.append(error)
                raise
            self.seen.append(results)
            return values(results)

        self.child, self.parent = child, parent

    def children(self, *does: int | str, **options: Any) -> None:
        self.subs = [sub(self.child, do, **options) for do in does]
