"""Random sequences of verbs: Hypothesis searches for one that violates an invariant."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar, cast
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from plait.model.errors import DedupeConflict, IllegalMove, QuotaExceeded
from plait.model.states import RETRYABLE, Status
from plait.testing import TestDatabase

from ..fake_worker import FakeWorker, Lease, outcome
from ..harness import Harness

T = TypeVar("T")
ENDINGS = ("succeeded", "failed", "timeout", "skipped", "snoozed", "released", "canceled")
anything = st.integers(min_value=0, max_value=10_000)


class Jobs(RuleBasedStateMachine):
    """Two workers, two tenants, an operator, a leader; every lease ever given out may report at any time."""

    def __init__(self, runner: asyncio.Runner, harness: Harness) -> None:
        super().__init__()
        self.runner, self.harness = runner, harness
        self.tenant_of: dict[UUID, str] = {}
        self.leases: list[tuple[FakeWorker, Lease]] = []
        self.reported: dict[tuple[UUID, int], str] = {}
        self.seen: dict[UUID, tuple[Status, int]] = {}
        self.opened: set[UUID] = set()
        self.do(harness.empty())
        self.do(harness.tenant("b", max_queued=6))
        self.do(harness.define("limited", max_running=1))
        self.do(harness.define("add", backoff_base_s=2))
        self.workers = [self.do(self._worker()) for _ in range(2)]

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _worker(self) -> FakeWorker:
        return await self.harness.worker(definitions=["add", "limited"], lease_s=20)

    def teardown(self) -> None:
        for worker in self.workers:
            self.do(worker.disconnect())

    # Clients

    @rule(
        definition=st.sampled_from(["add", "add", "limited"]), tenant=st.sampled_from(["default", "b"]),
        priority=st.sampled_from([None, 0, 100]), delay_s=st.sampled_from([None, 5.0]),
        max_attempts=st.integers(1, 3), dedupe_key=st.sampled_from([None, None, "k"]),
        idempotency_key=st.sampled_from([None, None, "i"]), limit_key=st.sampled_from([None, None, "l"]),
    )  # fmt: skip
    def enqueue(self, definition: str, tenant: str, **options: Any) -> None:
        with suppress(QuotaExceeded):
            job = self.do(self.harness.enqueue(definition, tenant=tenant, **options))
            self.tenant_of.setdefault(job, tenant)

    # Workers

    @rule(which=st.integers(0, 1), n=st.integers(1, 3), plainly=st.booleans())
    def claim(self, which: int, n: int, plainly: bool) -> None:
        worker = self.workers[which]
        leases = self.do(worker.claim_plainly(n) if plainly else worker.claim(n))
        assert len(leases) <= n
        for lease in leases:
            assert lease.failed_attempts < lease.max_attempts
            assert all((lease.job_id, lease.attempt) != (old.job_id, old.attempt) for _, old in self.leases)
        self.leases += [(worker, lease) for lease in leases]

    @precondition(lambda self: self.leases)
    @rule(which=anything, ending=st.sampled_from(ENDINGS), permanent=st.booleans(), in_cycle=st.booleans())
    def settle(self, which: int, ending: str, permanent: bool, in_cycle: bool) -> None:
        worker, lease = self.leases[which % len(self.leases)]
        fence = (lease.job_id, lease.attempt)
        current = self.do(
            self.harness.sql(
                """select count(*) from plait.live
                   where job_id = $1 and attempt = $2 and state = 'running' and worker = $3""",
                *fence,
                worker.id,
            )
        )
        settlement = outcome(lease, ending, delay_s=3, permanent=permanent)
        before = None if current else self.do(self.harness.snapshot())
        if in_cycle:
            accepted = self.do(worker.cycle(0, settlement)).stale == []
            self.do(worker.disconnect())
        else:
            [accepted] = self.do(worker.settle(settlement))
        if current:
            assert accepted
            self.reported.setdefault(fence, ending)
        else:
            assert self.do(self.harness.snapshot()) == before
            if self.reported.get(fence) == ending:
                assert accepted  # sent again

    @precondition(lambda self: self.leases)
    @rule(which=anything)
    def progress(self, which: int) -> None:
        worker, lease = self.leases[which % len(self.leases)]
        self.do(worker.progress(lease, {"done": which}))

    @rule(which=st.integers(0, 1), forget=st.booleans())
    def heartbeat(self, which: int, forget: bool) -> None:
        worker = self.workers[which]
        mine = [lease for owner, lease in self.leases if owner is worker]
        self.do(worker.heartbeat(holding=mine[::2] if forget else None))

    @rule(which=st.integers(0, 1))
    def leave(self, which: int) -> None:
        self.do(self.workers[which].leave())
        self._replace(which)

    @rule(which=st.integers(0, 1))
    def crash(self, which: int) -> None:
        self.do(self.harness.lose(self.workers[which]))
        self._replace(which)

    def _replace(self, which: int) -> None:
        self.do(self.workers[which].disconnect())
        self.workers[which] = self.do(self._worker())

    # Operators

    @precondition(lambda self: self.tenant_of)
    @rule(which=anything)
    def cancel(self, which: int) -> None:
        job, tenant = self._pick(which)
        was = self.do(self.harness.status(job))
        now = self.do(self.harness.cancel(job, tenant=tenant))
        assert now == (was if was.final or was == "running" else "canceled")

    @precondition(lambda self: self.tenant_of)
    @rule(which=anything)
    def retry(self, which: int) -> None:
        job, tenant = self._pick(which)
        was = self.do(self.harness.status(job))
        try:
            self.do(self.harness.retry(job, tenant=tenant))
        except IllegalMove:
            assert was not in RETRYABLE
        except (QuotaExceeded, DedupeConflict):
            pass
        else:
            assert was in RETRYABLE
            self.opened.add(job)

    @precondition(lambda self: self.tenant_of)
    @rule(which=anything, more=st.sampled_from([None, 5]))
    def reschedule(self, which: int, more: int | None) -> None:
        job, tenant = self._pick(which)
        if self.do(self.harness.status(job)) in ("scheduled", "queued"):
            at = self.do(self.harness.now())
            assert self.do(self.harness.reschedule(job, tenant=tenant, run_at=at, max_attempts=more)) == "queued"

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        self.do(self.harness.tenant("default", paused=paused))

    def _pick(self, which: int) -> tuple[UUID, str]:
        return list(self.tenant_of.items())[which % len(self.tenant_of)]

    # The leader, and time

    @rule(seconds=st.sampled_from([1, 5]))
    def time_passes(self, seconds: int) -> None:
        self.do(self.harness.advance(seconds=seconds))
        for worker in self.workers:
            self.do(worker.heartbeat())

    @rule()
    def promote(self) -> None:
        self.do(self.harness.promote())

    @rule(grace=st.sampled_from([0.5, 30.0]))
    def rescue(self, grace: float) -> None:
        self.do(self.harness.rescue(cancel_grace_s=grace))

    # Invariants

    @invariant()
    def the_database_is_whole(self) -> None:
        self.do(self.harness.check())
        assert sum(self.do(self.harness.counts()).values()) == len(self.tenant_of)

    @invariant()
    def what_is_final_stays_and_attempts_only_grow(self) -> None:
        rows = self.do(self.harness.rows("select id, status::text, attempt from plait.job"))
        for job, status, attempt in rows:
            was, before = self.seen.get(job, (Status.QUEUED, 0))
            assert attempt >= before
            if was.final and job not in self.opened:
                assert (status, attempt) == (was, before)
            self.seen[job] = (Status(status), attempt)
        self.opened.clear()


@pytest.mark.parametrize("examples", [30, pytest.param(400, marks=pytest.mark.full)])
@pytest.mark.timeout(1800)
def test_no_sequence_of_verbs_breaks_anything(shared_database: TestDatabase, examples: int) -> None:
    with asyncio.Runner() as runner:
        harness = runner.run(Harness.open(shared_database))
        run_state_machine_as_test(
            cast("type[Jobs]", lambda: Jobs(runner, harness)),
            settings=settings(
                max_examples=examples, stateful_step_count=40, deadline=None, derandomize=True, database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )  # fmt: skip
        runner.run(harness.close())
