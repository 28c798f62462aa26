"""Fan-out and fan-in: enqueue many sub-jobs, wait for them without holding a worker, and resume with their results.

Sub-jobs inherit tenant, root and correlation id from their parent. Each other option comes from the first of these that sets it:
the sub-job, the fan-out, the sub-job's definition. The retries default to the parent's.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from itertools import chain
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from plait.model.errors import FanOutError, InvalidArguments, SubJobFailure, TooLarge
from plait.model.ids import new_id
from plait.model.states import Status
from plait.model.strategies import Strategy, collect_all, fail_fast
from plait.model.texts import shown
from plait.sdk.argument_checks import check_iterable
from plait.sdk.artifacts import is_reference
from plait.sdk.durable import Durable, durable
from plait.sdk.options import Options
from plait.sdk.results import Result, read_failure
from plait.sdk.sub_jobs import Duration, Sub, SubKind
from plait.sdk.until_sent import until_sent
from plait.store.new_jobs import NewJob
from plait.store.workflows import PAGE_BYTES, ChildOutcome, NewFanOut, Suspension

PAGE = 2000
"""The maximum number of results in a page; PAGE_BYTES limits their size."""
MAX_FAILURES = 1000
"""The maximum number of failures that the error of a stream lists. It limits the memory that the error uses."""
BREATH = 1000
"""After this many sub-jobs are created, other tasks on the loop may run."""


async def fan_out(
    subs: Iterable[Sub],
    strategy: Strategy | None = None,
    *,
    name: str = "fan_out",
    queue: str | None = None,
    priority: int | None = None,
    retries: int | None = None,
    sub_timeout: Duration | None = None,
    timeout: Duration | None = None,
    cancel_remaining: bool | None = None,
    cancel_on_parent_failure: bool = False,
    nested: bool = True,
) -> list[Result[Any]]:
    """Run sub-jobs on any workers and wait for them; returns their results, in order of index.

    Default strategy: `fail_fast()`. The job waits without a worker, and resumes as soon as the fan-out is decided. A failed fan-out raises
    FanOutError and cancels its unfinished sub-jobs, unless `cancel_remaining=False`. With `cancel_remaining=True`, a fan-out that succeeds
    early cancels them too.
    """
    given = Options(queue=queue, priority=priority, retries=retries, timeout=sub_timeout)
    opened = await _open(
        subs,
        fail_fast() if strategy is None else strategy,
        given,
        name,
        timeout,
        cancel_remaining,
        cancel_on_parent_failure,
        nested,
    )
    if opened is None:
        return []
    results = [result async for result in opened.results()]
    if opened.decision != "succeeded":
        raise opened.error([result.error for result in results if result.error is not None], results)
    return results


async def fan_out_stream(
    subs: Iterable[Sub],
    strategy: Strategy | None = None,
    *,
    name: str = "fan_out_stream",
    queue: str | None = None,
    priority: int | None = None,
    retries: int | None = None,
    sub_timeout: Duration | None = None,
    timeout: Duration | None = None,
    cancel_remaining: bool | None = None,
    cancel_on_parent_failure: bool = False,
    nested: bool = True,
) -> AsyncIterator[Result[Any]]:
    """Like `fan_out`, but yields one result at a time, in the order in which sub-jobs end. The order is recorded, so a replay sees the same order.

    Default strategy: `collect_all()`, so each result has its own status. At most one page of 8 MB is held in memory. Each time the job
    resumes, it reads the stream from its start. Therefore it resumes only when the number of results has grown by a quarter, not for every result.
    """
    given = Options(queue=queue, priority=priority, retries=retries, timeout=sub_timeout)
    opened = await _open(
        subs,
        collect_all() if strategy is None else strategy,
        given,
        name,
        timeout,
        cancel_remaining,
        cancel_on_parent_failure,
        nested,
        streamed=True,
    )
    if opened is None:
        return
    failures: list[SubJobFailure] = []
    while opened.decision is None or opened.position < opened.ended:
        if opened.position >= opened.ended:
            await opened.join(opened.position + max(1, opened.position // 4))
        async for result in opened.page():
            if result.error is not None and len(failures) < MAX_FAILURES:
                failures.append(result.error)
            yield result
    if opened.decision != "succeeded":
        raise opened.error(failures, [])


class Opened:
    """A recorded fan-out."""

    def __init__(
        self, owner: Durable, name: str, fan_out_id: UUID, total: int, strategy: str, *, streamed: bool = False
    ) -> None:
        self._owner = owner
        self._name = name
        self._id = fan_out_id
        self.total = total
        self._strategy = strategy
        self._streamed = streamed
        self.decision: str | None = None
        self.ended = 0
        """For a stream: how many children had ended at the last check; their results may be read."""
        self.position = 0 if streamed else -1
        self._read = False

    async def results(self) -> AsyncIterator[Result[Any]]:
        """All results that have not been read."""
        while not self._read:
            async for result in self.page():
                yield result

    async def page(self) -> AsyncIterator[Result[Any]]:
        """The next results. Each is decoded when it is returned, and then no longer held here."""
        workflows, job_id = self._owner.store.workflows, self._owner.lease.job_id
        limit = min(PAGE, self.ended - self.position) if self._streamed else PAGE
        with self._owner.reading():
            rows = await until_sent(
                lambda: workflows.gather(job_id, self._id, after=self.position, limit=limit, most_bytes=PAGE_BYTES)
            )
        # Fewer rows than requested, and below the size limit even at four bytes per character: there are no more.
        size = sum(len(row.result or "") + len(row.error or "") for row in rows)
        self._read = len(rows) < limit and 4 * size < PAGE_BYTES
        rows.reverse()
        while rows:
            row = rows.pop()
            self.position = row.position
            yield self._result(await self._resolved(row) if is_reference(row.result) else row)

    async def _resolved(self, row: ChildOutcome) -> ChildOutcome:
        """The row with its artifact's content, if its result was too large for a row."""
        assert row.result is not None
        owner = self._owner
        with owner.reading():
            kept = owner.artifacts.resolve(row.result, job_id=row.job_id, tenant_id=owner.tenant_id, kind="result")
            return replace(row, result=await kept)

    async def join(self, ended: int | None) -> None:
        """Wait until this many children have ended, or the fan-out is decided. This is a step, so that a replay reads the same number of results."""
        with await self._owner.begin(f"{self._name} join", "join") as step:
            stands, _ = await self._owner.wait(step, fan_out_id=self._id, ended=ended)
            self.decide(stands)

    def decide(self, stands: str | None) -> None:
        """Set the decision, as it is recorded."""
        now = msgspec.json.decode(stands or "{}")
        self.decision = now.get("decision")
        self.ended = (now.get("ended") if self.decision is None else now.get("decided_ended")) or 0

    def error(self, failures: list[SubJobFailure], results: list[Result[Any]]) -> FanOutError:
        return FanOutError(
            fan_out_id=self._id,
            strategy=self._strategy,
            total_count=self.total,
            failures=failures,
            results=results,
            timed_out=self.decision == "timeout",
        )

    def _result(self, row: ChildOutcome) -> Result[Any]:
        if row.status is Status.SUCCEEDED:
            known = self._owner.definitions.get(row.definition)
            value = known.codec.decode_result(row.result) if known else _plain(row.result)
            return Result(index=row.index, job_id=row.job_id, value=value)
        if row.status is Status.SKIPPED:
            return Result(index=row.index, job_id=row.job_id, skipped=True)
        error = SubJobFailure(
            index=row.index,
            job_id=row.job_id,
            error=row.error or row.reason or "no reason given",
            attempt=row.attempt,
            status=str(row.status),
            failure=read_failure(row.failure),
        )
        return Result(index=row.index, job_id=row.job_id, error=error)


async def _open(
    subs: Iterable[Sub],
    strategy: Strategy,
    given: Options,
    name: str,
    timeout: Duration | None,
    cancel_remaining: bool | None,
    cancel_on_parent_failure: bool,
    nested: bool,
    *,
    streamed: bool = False,
) -> Opened | None:
    """Open the fan-out, unless it is already recorded, and wait for it. None if there are no sub-jobs (T20)."""
    if not isinstance(strategy, Strategy):
        raise InvalidArguments(
            f"strategy must be fail_fast(), collect_all(), threshold(share) or quorum(count), got {shown(strategy)}"
        )
    check_iterable(subs, "fan_out arguments must be an iterable of sub(job, …)")
    owner = durable()
    asked = iter(subs)
    try:
        first = next(asked)
    except StopIteration:
        strategy.needed(0)
        return None
    with await owner.begin(name, "stream" if streamed else "fan_out") as step:
        children, total, digest = await _read(owner, given, chain([first], asked), keep=step.row is None)
        step.check(digest)
        if step.row is not None:
            assert step.row.fan_out_id is not None
            opened = Opened(owner, name, step.row.fan_out_id, step.row.total or total, strategy.name, streamed=streamed)
            if not streamed and step.row.finished is None:
                opened.decide((await owner.wait(step, fan_out_id=step.row.fan_out_id))[0])
            elif not streamed:
                opened.decision = step.row.decision
            return opened
        new = NewFanOut(
            id=new_id(),
            key=step.key,
            hash=digest,
            strategy=strategy.name,
            needed=strategy.needed(total),
            early=strategy.early,
            timeout_s=Options(timeout=timeout).seconds_of("timeout"),
            cancel_remaining=cancel_remaining,
            cancel_on_parent_failure=cancel_on_parent_failure,
            nested=nested,
            streamed=streamed,
        )

        async def write(number: int | None = None, *, suspend: bool = False) -> Suspension:
            return await owner.store.workflows.open_fan_out(
                owner.lease, new, children, finished=number, suspend=suspend
            )

        async def write_surely(number: int | None = None) -> None:
            status = await until_sent(lambda: write(number))
            if status != "opened":
                await owner.stop_for(status)

        opened = Opened(owner, name, new.id, total, strategy.name, streamed=streamed)
        if streamed:
            await owner.record(step, write_surely)
            return opened
        if owner.delivery.alone:
            await owner.suspend(lambda: write(suspend=True))
        else:
            try:
                await write_surely()
            except asyncio.CancelledError:
                owner.delivery.abandon(step.key, new.id)  # it may be open, though the reply did not arrive
                raise
        opened.decide((await owner.wait(step, fan_out_id=new.id))[0])
        return opened


async def _read(owner: Durable, given: Options, subs: Iterable[Sub], *, keep: bool) -> tuple[list[NewJob], int, str]:
    """The sub-jobs in the database's form, their number, and a hash of all of them; a replay needs only the latter two."""
    digest = hashlib.blake2b(digest_size=8)
    children: list[NewJob] = []
    kinds: dict[tuple[int, int], SubKind] = {}
    total = 0
    for asked in subs:
        if not isinstance(asked, Sub):
            raise InvalidArguments(f"fan_out arguments must be sub(job, …), got {type(asked).__name__}")
        key = (id(asked.job), id(asked.options))  # these ids are not reused, because the kind references both objects
        kind = kinds.get(key) or kinds.setdefault(key, SubKind(owner, asked, given))
        large: TooLarge | None = None
        try:
            payload = kind.payload(asked, check=keep)
        except TooLarge as error:
            payload, large = error.text, error
        digest.update(f"{kind.name}\0{payload}\0".encode())
        if keep:
            child = kind.child(asked, payload)
            children.append(child if large is None else await _kept(owner, child, large))
        total += 1
        if total % BREATH == 0:
            await asyncio.sleep(0)
    return children, total, digest.hexdigest()


async def _kept(owner: Durable, child: NewJob, large: TooLarge) -> NewJob:
    """A child whose payload is an artifact."""
    reference = await owner.artifacts.keep(large, job_id=child.id, tenant_id=owner.tenant_id, kind="payload")
    return replace(child, payload=reference)


def _plain(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)
