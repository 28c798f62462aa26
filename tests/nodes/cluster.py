"""A cluster of nodes for the tests of node jobs."""

from uuid import UUID

from plait.model.states import Status
from plait.store.nodes import JobNode

from ..fake_worker import FakeWorker
from ..harness import Harness

PARTS = ("job", "job/node")


class Cluster:
    """Nodes by name, each with a worker that does what a test says; the first leads."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.nodes: dict[str, FakeWorker] = {}

    async def start(self, *names: str) -> None:
        for name in names:
            self.nodes[name] = await self.harness.worker(definitions=PARTS, node=name)
        await self.harness.lead(next(iter(self.nodes)))

    async def ask(self, **policy: object) -> UUID:
        await self.harness.define("job/node", max_attempts=2)
        await self.harness.define("job", kind="node", on_node="job/node", **{"on_leader": True, **policy})
        return await self.harness.enqueue("job")

    async def done(self, *names: str) -> None:
        for name in names:
            [lease] = await self.nodes[name].claim(1)
            assert await self.nodes[name].succeed(lease, name)

    async def skip(self, *names: str) -> None:
        for name in names:
            [lease] = await self.nodes[name].claim(1)
            assert await self.nodes[name].skip(lease)

    async def fail(self, name: str) -> None:
        [lease] = await self.nodes[name].claim(1)
        assert await self.nodes[name].fail(lease, permanent=True)

    async def time_out(self) -> None:
        await self.harness.advance(seconds=11)
        for name in self.nodes:
            await self.nodes[name].heartbeat()
        await self.harness.lead(next(iter(self.nodes)))
        await self.harness.store.leader.resume()

    async def states(self, job: UUID) -> dict[str, Status | None]:
        return {node.node: node.status for node in await self.parts(job)}

    async def parts(self, job: UUID) -> list[JobNode]:
        return await self.harness.store.nodes.job_nodes(job)

    async def rule(self, job: UUID) -> str | None:
        return (await self.parts(job))[0].rule
