"""A workflow of nested fan-outs, for the tests of whole workflows."""

from typing import Any

from plait import (
    Handle,
    PermanentError,
    Plait,
    call,
    fan_out,
    sub,
    values,
)


class NestedWorkflow:
    """Jobs that fan out to two jobs of the same definition until depth 0. The leaves named in `fail` fail. `ran` lists the nodes and steps that ran."""

    def __init__(self, app: Plait) -> None:
        self.ran: list[str] = []
        self.fail: set[str] = set()

        @app.job(name="leaf", retries=0)
        async def leaf(path: str) -> str:
            self.ran.append(path)
            if path in self.fail:
                raise PermanentError(f"{path} fails")
            return path

        @app.job(name="node", retries=0)
        async def node(path: str, depth: int, queue: str | None = None) -> list[str]:
            async def note() -> None:
                self.ran.append(f"note {path}")

            await call(note)
            below = [f"{path}.{n}" for n in range(2)]
            if depth == 1:
                results = await fan_out([sub(leaf, p, queue=queue) for p in below])
                return values(results)
            results = await fan_out([sub(node, p, depth - 1, queue) for p in below])
            return [leaf for value in values(results) for leaf in value]

        self.leaf, self.node = leaf, node


async def statuses(handle: Handle[Any]) -> list[str]:
    return sorted(f"{n.depth} {n.status}" for n in await handle.tree())
