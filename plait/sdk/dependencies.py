"""Results of the jobs that a job waited for: `dependencies()`, and the result that a chain passes on.

A link of a chain is stored before the result that it will receive exists. Its payload names the argument for that result:

    {"$previous":"numbers","factor":10}

No handler can have a parameter named `$previous`, so only the payloads of links cost a query. The marker is replaced only if the job waited for another
job. Otherwise the payload does not fit the signature, and the job fails.
"""

from typing import Any
from uuid import UUID

import msgspec

from plait.model.errors import SubJobFailure
from plait.model.states import Status
from plait.sdk.artifacts import Artifacts, is_reference
from plait.sdk.codec import Codec
from plait.sdk.durable import durable
from plait.sdk.from_threads import call_from_thread
from plait.sdk.results import Result
from plait.sdk.until_sent import until_sent
from plait.store import Store
from plait.store.nurseries import DependencyRow

_NAME = "$previous"
_BEGINS = f'{{"{_NAME}":'


def link_payload(codec: Codec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """The payload of a job that gets another job's result as its first argument; None if the function accepts no further argument."""
    first = codec.first_before(args, kwargs)
    if first is None:
        return None
    rest = codec.encode_rest(first, args, kwargs)
    name = msgspec.json.encode(first).decode()
    return f"{_BEGINS}{name}{',' if rest != '{}' else ''}{rest[1:]}"


def is_link(payload: str) -> bool:
    """Whether the payload may name an argument that is another job's result."""
    return payload.startswith(_BEGINS)


async def complete_link(
    store: Store, artifacts: Artifacts, payload: str, *, job_id: UUID, tenant_id: UUID
) -> str | None:
    """The payload with the result of the previous job in its chain; None if it is not part of a chain."""
    rows = await until_sent(lambda: store.nurseries.list_dependencies(job_id, tenant_id, last=True))
    try:
        arguments = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
        name = msgspec.json.decode(arguments.pop(_NAME), type=str)
    except (msgspec.MsgspecError, KeyError):
        return None
    if not rows:
        return None
    result = await _whole(artifacts, rows[0], tenant_id) or "null"
    return msgspec.json.encode({name: msgspec.Raw(result.encode()), **arguments}).decode()


async def dependencies() -> list[Result[Any]]:
    """The results of the jobs that this one waited for (`after=[…]`, or the previous job of a chain), in the order in which they were given."""
    owner = durable()
    job_id, tenant_id = owner.lease.job_id, owner.tenant_id
    results: list[Result[Any]] = []
    with owner.reading():
        position = -1
        while rows := await until_sent(
            lambda after=position: owner.store.nurseries.list_dependencies(job_id, tenant_id, after=after)  # type: ignore[misc]
        ):
            for row in rows:
                known = owner.definitions.get(row.definition)
                text = await _whole(owner.artifacts, row, tenant_id)
                results.append(_result(row, text, known.codec if known else None))
            position = rows[-1].index
    return results


def dependencies_sync() -> list[Result[Any]]:
    """Like `dependencies`, for `def` handlers."""
    return call_from_thread(durable(), dependencies)


async def _whole(artifacts: Artifacts, row: DependencyRow, tenant_id: UUID) -> str | None:
    """The result of a dependency, read from its artifact if it was too large for a row."""
    if not is_reference(row.result):
        return row.result
    return await artifacts.resolve(row.result, job_id=row.job_id, tenant_id=tenant_id, kind="result")


def _result(row: DependencyRow, text: str | None, codec: Codec | None) -> Result[Any]:
    if row.status is Status.SUCCEEDED:
        value = codec.decode_result(text) if codec else None if text is None else msgspec.json.decode(text)
        return Result(index=row.index, job_id=row.job_id, value=value)
    if row.status is Status.SKIPPED:
        return Result(index=row.index, job_id=row.job_id, skipped=True)
    error = SubJobFailure(
        index=row.index,
        job_id=row.job_id,
        error=row.error or row.reason or "no reason given",
        attempt=row.attempt,
        status=str(row.status),
    )
    return Result(index=row.index, job_id=row.job_id, error=error)
