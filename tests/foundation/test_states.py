"""The states and transitions of plait/model/states.py equal those of the database."""

from itertools import product

import asyncpg
import pytest

from plait.model.states import FINAL, LIVE, MOVES, RETRYABLE, AttemptOutcome, Status

from ..harness import Harness

MOVE = """update {table} set state = $1::text::plait.status,
          worker = case when $1 = 'running' then $2::int end"""
LIVE_IN_ORDER = [status for status in Status if status in LIVE]


async def test_the_words_are_those_of_the_database(harness: Harness) -> None:
    assert await harness.sql("select enum_range(null::plait.status)::text[]") == list(Status)
    assert await harness.sql("select enum_range(null::plait.outcome)::text[]") == list(AttemptOutcome)


def test_every_status_is_live_or_final() -> None:
    assert set(Status) == LIVE | FINAL
    assert not LIVE & FINAL
    assert FINAL - {Status.SUCCEEDED} == RETRYABLE
    assert {a for a, _ in MOVES} | {b for _, b in MOVES} == LIVE


async def test_the_guard_allows_the_moves_of_the_model_and_no_others(harness: Harness) -> None:
    job = await harness.enqueue("add")
    worker = await harness.worker()
    allowed = set()
    for old, new in product(LIVE_IN_ORDER, repeat=2):
        transaction = harness.admin.transaction()
        await transaction.start()
        # A row that is born in the old state: no trigger guards an insert.
        await harness.sql("create temp table born on commit drop as select * from plait.live")
        await harness.sql(MOVE.format(table="born"), old, worker.id)
        await harness.sql("delete from plait.live")
        await harness.sql("insert into plait.live select * from born")
        refusal = await _refusal(harness, MOVE.format(table="plait.live"), new, worker.id)
        if refusal is None:
            allowed.add((old, new))
        else:
            assert refusal == ("PL009", f"a {old} job cannot become {new}")
        await transaction.rollback()
    assert allowed == MOVES | {(status, status) for status in LIVE}
    assert await harness.status(job) == "queued"


async def _refusal(harness: Harness, sql: str, *args: object) -> tuple[str, str] | None:
    try:
        await harness.sql(sql, *args)
    except asyncpg.PostgresError as error:
        return error.sqlstate, error.message
    return None


@pytest.mark.parametrize("final", sorted(FINAL))
async def test_a_live_row_is_never_final(harness: Harness, final: Status) -> None:
    await harness.enqueue("add")
    with pytest.raises(asyncpg.PostgresError) as caught:
        await harness.sql("update plait.live set state = $1::text::plait.status", final)
    assert caught.value.sqlstate in ("PL009", "23514")


@pytest.mark.parametrize("live", LIVE_IN_ORDER)
async def test_an_attempt_ends_a_job_only_as_final(harness: Harness, live: Status) -> None:
    job = await harness.enqueue("add")
    await harness.cancel(job)
    with pytest.raises(asyncpg.CheckViolationError):
        await harness.sql("update plait.attempts set final = $1::text::plait.status", live)


@pytest.mark.parametrize(
    "harm",
    [
        "update plait.live set worker = 1",
        "update plait.live set cancel_requested = plait.now()",
        "update plait.live set state = 'running'",
    ],
)
async def test_only_a_running_row_has_a_worker_or_a_request_to_stop(harness: Harness, harm: str) -> None:
    await harness.enqueue("add")
    with pytest.raises(asyncpg.CheckViolationError):
        await harness.sql(harm)
