"""Node jobs: a part that runs on every node and then, once a quorum has finished, an action of the leader.

    @app.node_job(quorum="majority", quorum_timeout="10s")
    async def compact(table: str) -> int: ...                             # on every active node

    @compact.on_leader
    async def publish(nodes: Nodes[int], table: str) -> str: ...          # on the leader

A node job is a fan-out whose children are pinned to nodes and whose parent is pinned to the leader. The database creates the children
and decides when they are done. This module creates the two definitions, and passes the nodes' results to the leader's handler. The part that
runs on nodes is an ordinary job: it returns, or raises RetryLater, PermanentError or Skip.
"""

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Literal, NoReturn, ParamSpec, TypedDict, TypeVar
from uuid import UUID

import msgspec

from plait.model.errors import InvalidDefinition, Snooze
from plait.model.policies import Backoff, NodePolicy, OnNodeFailure, OnTimeout
from plait.model.states import Status
from plait.sdk.active_step import Step
from plait.sdk.artifacts import is_reference
from plait.sdk.codec import Codec
from plait.sdk.context import current
from plait.sdk.definition import Definition
from plait.sdk.durable import Durable, durable
from plait.sdk.job import App, Job
from plait.sdk.until_sent import until_sent
from plait.store.nodes import JobNode, Rule
from plait.store.workflows import Suspension

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

TOO_FEW_S: Final = 5.0
"""How long the leader waits before it checks again whether there are enough nodes."""


class PartOptions(TypedDict, total=False):
    """Other options of a node job or leader job: the same as for `@app.job`."""

    name: str | None
    queue: str
    priority: int
    retries: int | None
    timeout: float | str
    backoff: Backoff | None


class NodeOptions(PartOptions, total=False):
    """The options of a node job, in addition to `name`, `queue`, `priority`, `retries`, `timeout` and `backoff`, which are the same as for `@app.job`."""

    quorum: int | Literal["majority", "all"]
    """Number of nodes that must finish before the leader acts. Default: `"majority"`."""
    quorum_timeout: float | str
    """Time after which the job is decided without a quorum. Default: 10 seconds."""
    on_timeout: OnTimeout
    """After `quorum_timeout`, the leader acts anyway (`"proceed"`), or the job fails (`"fail"`). Default: `"proceed"`."""
    on_node_failure: OnNodeFailure
    """A failed node fails the job (`"fail"`), or is ignored (`"tolerate"`). Default: `"fail"`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult(Generic[T]):
    """The result of one node at the time when the job's outcome was decided."""

    node: str
    job_id: UUID
    status: Status | None
    """None if the node was late: its outcome is unknown."""
    value: T | None = None
    error: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the job succeeded or was skipped on this node."""
        return self.status in (Status.SUCCEEDED, Status.SKIPPED)


class Nodes(tuple[NodeResult[T], ...]):
    """The results of all nodes of a job, including late nodes. `rule` tells why the leader may act: `quorum` or `timeout`."""

    needed: int
    rule: Rule | None

    def values(self) -> dict[str, T | None]:
        """The results of the nodes that succeeded, by node."""
        return {result.node: result.value for result in self if result.status is Status.SUCCEEDED}

    @property
    def late(self) -> list[str]:
        """The names of nodes that had not finished when the job's outcome was decided."""
        return [result.node for result in self if result.status is None]


class NodeJob(Job[P, Any]):
    """A job with a part on every node and, optionally, a final action of the leader."""

    def __init__(
        self, app: App, definition: Definition, on_node: Callable[P, Any], redefine: Callable[[Definition], None]
    ) -> None:
        super().__init__(app, definition, on_node)
        self._on_node = on_node
        self._redefine = redefine

    def on_leader(self, function: F) -> F:
        """Run this function on the leader once enough nodes have finished. Its arguments are the nodes' results, then the job's arguments."""
        name, nodes = self.definition.name, self.definition.nodes
        assert nodes is not None
        asked = list(inspect.signature(self._on_node).parameters)
        if list(inspect.signature(function).parameters)[1:] != asked:
            wanted = ", ".join(["nodes", *asked])
            raise InvalidDefinition(
                f"job {name}: the parameters of on_leader must be the nodes, then the parameters of the node function: ({wanted})"
            )
        if nodes.on_leader:
            raise InvalidDefinition(f"job {name}: on_leader is already set")
        handler = leading(self._on_node, function)
        self.definition = replace(
            self.definition, function=handler, codec=Codec(handler, name), nodes=replace(nodes, on_leader=True)
        )
        self._redefine(self.definition)
        return function


def apart(function: Callable[..., Any], options: NodeOptions) -> tuple[str, NodePolicy, dict[str, Any]]:
    """Split the options of a node job into its name, its policy, and the options that any job may have."""
    name = str(options.get("name") or getattr(function, "__name__", ""))
    ours: dict[str, Any] = {key: value for key, value in options.items() if key in NodePolicy.__slots__}
    rest: dict[str, Any] = {key: value for key, value in options.items() if key not in ours and key != "name"}
    return name, NodePolicy(on_node=f"{name}/node", **ours), rest


def leading(on_node: Callable[..., Any], on_leader: Callable[..., Any] | None) -> Callable[..., Any]:
    """The handler of the job itself, which only the leader runs."""

    async def lead(**arguments: Any) -> Any:
        nodes = await gather()
        if on_leader is None:  # the job had a leader action when it was enqueued; otherwise the database settles it
            return nodes.values()
        if nodes.rule == "timeout":
            done = sum(result.ok for result in nodes)
            current().logger.warning(
                "quorum timed out, leader acts anyway", done=done, needed=nodes.needed, late=nodes.late
            )
        if inspect.iscoroutinefunction(on_leader):
            return await on_leader(nodes, **arguments)
        return await asyncio.to_thread(on_leader, nodes, **arguments)

    like, first = (on_leader, 1) if on_leader else (on_node, 0)
    parameters = list(inspect.signature(like).parameters.values())[first:]
    lead.__annotations__ = {one.name: one.annotation for one in parameters if one.annotation is not one.empty}
    if on_leader is not None and "return" in on_leader.__annotations__:
        lead.__annotations__["return"] = on_leader.__annotations__["return"]
    lead.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    lead.__wrapped__ = like  # type: ignore[attr-defined]  # annotations may use its names
    lead.__name__, lead.__qualname__ = like.__name__, like.__qualname__
    lead.__doc__, lead.__module__ = like.__doc__, like.__module__
    return lead


async def gather() -> Nodes[Any]:
    """The results of the nodes of the running job. If they have not started or finished, the job waits."""
    owner = durable()
    with await owner.begin("nodes", "fan_out") as step:
        if step.row is None:
            await _ask(owner, step)
        await owner.wait(step, fan_out_id=step.row.fan_out_id)
    with owner.reading():
        rows = await until_sent(lambda: owner.store.nodes.gather_nodes(owner.lease.job_id))
        nodes = Nodes([await _result(owner, row) for row in rows])
    nodes.needed, nodes.rule = rows[0].needed, rows[0].rule
    return nodes


async def _ask(owner: Durable, step: Step) -> NoReturn:
    async def send() -> Suspension:
        status = await owner.store.nodes.open_nodes(owner.lease, step.key.seq)
        if status == "none":
            raise Snooze(TOO_FEW_S, "too few nodes for the quorum")
        return status  # type: ignore[return-value]

    await owner.suspend(send, keep=False)
    raise AssertionError("unreachable: the nodes were started, so the job waits")


async def _result(owner: Durable, row: JobNode) -> NodeResult[Any]:
    value = None
    if row.status is Status.SUCCEEDED and (text := row.result) is not None:
        if is_reference(text):
            text = await owner.artifacts.resolve(text, job_id=row.job_id, tenant_id=owner.tenant_id, kind="result")
        known = owner.definitions.get(row.definition)
        value = known.codec.decode_result(text) if known else msgspec.json.decode(text)
    return NodeResult(node=row.node, job_id=row.job_id, status=row.status, value=value, error=row.error)
