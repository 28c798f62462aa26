"""The precedence of options is the same for every call that creates a job. It is defined in `plait._resolve_options`."""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import UUID

import pytest
from msgspec.structs import replace

from plait.model.ids import new_id
from plait.store.new_jobs import NewJob
from plait.store.nurseries import SpawnStep
from plait.store.signals import start_arguments
from plait.store.workflows import Lease, NewFanOut, StepKey

from ..harness import Harness

Create = Callable[[Harness, NewJob], Awaitable[UUID]]
Settings = tuple[str, int, int]

NAMES: Final = ("queue", "priority", "max_attempts")
SYSTEM: Final = ("default", 100, 5)
CODE: Final = ("from-code", 20, 2)
DEFINITION: Final = ("from-definition", 30, 3)
OPERATOR: Final = ("from-operator", 40, 4)
OWN: Final = ("own", 50, 6)
PARENT_ATTEMPTS: Final = 9
KEY: Final = StepKey("", "s", 1, 1)
STEP: Final = SpawnStep(key=KEY, hash="", finished=1)


async def enqueue_one(harness: Harness, job: NewJob) -> UUID:
    if not await harness.store.jobs.enqueue_one(job):  # the definition does not exist yet: fall back as the SDK does
        await harness.store.jobs.enqueue_many([job])
    return job.id


async def enqueue_plain(harness: Harness, job: NewJob) -> UUID:
    await harness.store.jobs.enqueue_many([job])
    return job.id


async def enqueue_general(harness: Harness, job: NewJob) -> UUID:
    return await enqueue_plain(harness, replace(job, correlation_id="c"))


async def signal_or_start(harness: Harness, job: NewJob) -> UUID:
    arguments = start_arguments(
        replace(job, dedupe_key="k"), "go", "1", signal_id=new_id(), tenant=None, in_transaction=False
    )
    return await harness.store.signals.signal_or_start(arguments)


async def open_fan_out(harness: Harness, job: NewJob) -> UUID:
    lease, _ = await _parent(harness)
    fan_out = NewFanOut(
        id=new_id(), key=KEY, hash="0", strategy="collect_all", needed=1, early=False, timeout_s=None, cancel_remaining=None,
        cancel_on_parent_failure=False, nested=True, streamed=False,
    )  # fmt: skip
    await harness.store.workflows.open_fan_out(lease, fan_out, [job])
    return job.id


async def spawn(harness: Harness, job: NewJob) -> UUID:
    lease, _ = await _parent(harness)
    await harness.store.nurseries.spawn_many(lease, STEP, [job], nursery=None, sibling=False)
    return job.id


async def follow_up(harness: Harness, job: NewJob) -> UUID:
    lease, succeed = await _parent(harness)
    await harness.store.nurseries.after_many(lease, STEP, [job], always=False)
    await succeed()
    return job.id


async def follow_up_always(harness: Harness, job: NewJob) -> UUID:
    lease, _ = await _parent(harness)
    await harness.store.nurseries.after_many(lease, STEP, [job], always=True)
    return job.id


ENQUEUES: Final = [enqueue_one, enqueue_plain, enqueue_general, signal_or_start]
BY_A_PARENT: Final = [open_fan_out, spawn, follow_up, follow_up_always]


@pytest.mark.parametrize("create", [*ENQUEUES, *BY_A_PARENT])
async def test_the_jobs_own_options_win_over_an_operator_and_an_operator_over_the_code(
    harness: Harness, create: Create
) -> None:
    await harness.define("sort", **_named(DEFINITION))
    assert await _created(harness, create) == DEFINITION

    await harness.store.definitions.set_definition("sort", _named(OPERATOR))
    assert await _created(harness, create) == OPERATOR
    assert await _created(harness, create, **_named(OWN)) == OWN
    for name, own, other in zip(NAMES, OWN, range(3), strict=True):  # each option on its own
        expected = [*OPERATOR]
        expected[other] = own
        assert await _created(harness, create, **{name: own}) == tuple(expected)


@pytest.mark.parametrize("create", [*ENQUEUES, *BY_A_PARENT])
async def test_without_a_definition_a_job_has_the_systems_defaults(harness: Harness, create: Create) -> None:
    assert await _created(harness, create) == SYSTEM
    assert await _created(harness, create, **_named(OWN)) == OWN


@pytest.mark.parametrize("create", ENQUEUES)
async def test_defaults_of_the_callers_code_count_until_a_worker_has_registered_the_definition(
    harness: Harness, create: Create
) -> None:
    defaults = '{"queue": "from-code", "priority": 20, "max_attempts": 2}'
    assert await _created(harness, create, defaults=defaults) == CODE
    assert await _created(harness, create, defaults=defaults, **_named(OWN)) == OWN

    await harness.define("sort", **_named(DEFINITION))
    assert await _created(harness, create, defaults=defaults) == DEFINITION


@pytest.mark.parametrize("create", BY_A_PARENT)
async def test_attempts_that_neither_code_nor_operator_sets_are_the_parents(harness: Harness, create: Create) -> None:
    await harness.define("sort", queue="from-definition", priority=30)
    assert await _created(harness, create) == (*DEFINITION[:2], PARENT_ATTEMPTS)

    await harness.store.definitions.set_definition("sort", {"max_attempts": 4})
    assert await _created(harness, create) == (*DEFINITION[:2], 4)
    assert await _created(harness, create, max_attempts=6) == (*DEFINITION[:2], 6)


async def _created(harness: Harness, create: Create, **options: Any) -> Settings:
    """The queue, priority and attempts of a job that is created with these options."""
    job = await create(harness, await harness.new_job("sort", **options))
    row = await harness.job(job)
    await harness.cancel(job)  # its dedupe key is free again
    return row.queue, row.priority, row.max_attempts


async def _parent(harness: Harness) -> tuple[Lease, Callable[[], Awaitable[bool]]]:
    queue = f"parents-{new_id()}"  # a new queue: an earlier parent may have resumed in another queue
    await harness.enqueue("add", queue=queue, max_attempts=PARENT_ATTEMPTS)
    worker = await harness.worker(queues=[queue])
    claimed = await worker.claim_one()
    return Lease(worker.id, claimed.job_id, claimed.attempt), lambda: worker.succeed(claimed)


def _named(settings: Settings) -> dict[str, Any]:
    return dict(zip(NAMES, settings, strict=True))
