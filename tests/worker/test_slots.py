"""The number of jobs that a worker claims from each queue: within its free slots, and at least one from each queue that it serves."""

from uuid import UUID

import pytest

from plait import Plait
from plait.model.ids import DEFAULT_TENANT, new_id
from plait.store.workers import Claimed
from plait.worker.run import Run
from plait.worker.slots import Slots
from tests.worker.conftest import Running

app = Plait()


@app.job
async def nothing() -> None: ...


def slots(queues: dict[str, int], total: int) -> Slots:
    return Slots(queues, total, lambda run: None)


def runs(queue: str, count: int, tenant: UUID = DEFAULT_TENANT) -> list[Run]:
    claimed = [Claimed(new_id(), 1, 0, 5, tenant, "nothing", queue, "{}", None, None) for _ in range(count)]
    return [Run(one, nothing.definition, (one.job_id, one.attempt), 0.0) for one in claimed]


def test_every_queue_is_asked_and_the_room_is_shared() -> None:
    assert slots({"a": 100, "b": 100}, 100).wanted() == {"a": 50, "b": 50}
    assert slots({"a": 4, "b": 50}, 100).wanted() == {"a": 4, "b": 50}
    assert slots({"a": 100}, 100).wanted() == {"a": 100}


def test_a_full_queue_gets_what_an_empty_one_leaves() -> None:
    held = slots({"a": 100, "b": 100}, 100)
    held.add(runs("b", 50), held.wanted())
    wanted = held.wanted()
    assert wanted == {"a": 1, "b": 49}
    held.add(runs("a", 1), wanted)
    assert held.wanted()["a"] > 1  # the queue has jobs again


def test_with_room_for_one_the_queues_take_turns() -> None:
    held = slots({"a": 10, "b": 10, "c": 10}, 1)
    asked = [held.wanted() for _ in range(6)]
    assert all(sum(wanted.values()) == 1 for wanted in asked)
    assert {queue for wanted in asked for queue in wanted} == {"a", "b", "c"}


def test_what_is_asked_for_takes_room_until_it_is_answered() -> None:
    held = slots({"a": 10}, 10)
    wanted = held.wanted()
    held.asked(wanted)
    assert held.wanted() == {}
    held.answered(wanted)
    assert held.wanted() == {"a": 10}


def test_a_queue_that_always_has_more_does_not_keep_another_from_running() -> None:
    started: list[str] = []
    held = Slots({"a": 2, "b": 2}, 2, lambda run: started.append(run.claimed.queue))
    held.add(runs("a", 10), {"a": 10})
    held.add(runs("b", 10), {"b": 10})
    for _ in range(8):
        held.finish(next(held.running))
    assert started[:2] == ["a", "a"]
    assert sorted(started[2:]) == ["a"] * 4 + ["b"] * 4


def test_with_much_to_hold_a_claim_asks_for_half_of_it() -> None:
    held = slots({"a": 3000}, 3000)
    assert held.wanted() == {"a": 1500}
    assert slots({"a": 1200}, 1200).wanted() == {"a": 1000}
    assert slots({"a": 900}, 900).wanted() == {"a": 900}


def test_without_room_nothing_is_asked() -> None:
    held = slots({"a": 2, "b": 2}, 2)
    held.add(runs("a", 2), held.wanted())
    assert held.wanted() == {}


async def test_an_empty_queue_does_not_hide_another(app: Plait, running: Running) -> None:
    @app.job(queue="zebra")
    async def rare() -> str:
        return "seen"

    async with running(app):  # a worker of both queues, which may use all its slots for either
        handle = await rare.enqueue()
        assert await handle.result(120) == "seen"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("plait.worker.slots.time", clock)
    return clock


def most_prefetched(clock: Clock, *, run_s: float, trip_s: float, rounds: int = 300) -> int:
    """The most prefetched jobs of a worker with 100 slots and an endless queue. Runs take `run_s`, and start and end together; a claim takes `trip_s`."""
    held = Slots({"a": 100}, 100, lambda run: setattr(run, "started_at", clock.now))
    most = 0
    for _ in range(rounds):
        wanted = held.wanted()
        held.asked(wanted)
        clock.now += trip_s
        for run in [run for run in held.running if clock.now - run.started_at >= run_s]:
            held.finish(run)
        held.answered(wanted)
        held.tripped(trip_s)
        held.add(runs("a", sum(wanted.values())), wanted)
        most = max(most, held.prefetched_count)
    return most


def test_what_is_prefetched_will_start_within_ten_milliseconds(clock: Clock) -> None:
    """With 100 slots and runs of 20 ms, a run starts every 0.2 ms: 50 in 10 ms, and 15 more in a round
    trip. Runs end together, which must not increase prefetching."""
    assert 10 < most_prefetched(clock, run_s=0.02, trip_s=0.003) <= 65


def test_where_the_database_is_far_what_starts_within_two_round_trips_is_prefetched(clock: Clock) -> None:
    assert 50 < most_prefetched(clock, run_s=0.02, trip_s=0.03) <= 300


def test_nothing_is_prefetched_for_slow_runs(clock: Clock) -> None:
    assert most_prefetched(clock, run_s=5.0, trip_s=0.003, rounds=5000) == 0


def test_a_tenants_job_does_not_wait_behind_all_that_others_have_prefetched() -> None:
    started: list[Run] = []
    held = Slots({"a": 10}, 1, started.append)
    crowd, quiet = runs("a", 50), runs("a", 2, new_id())
    held.add(crowd, {"a": 50})
    held.add(quiet, {"a": 2})
    for _ in range(5):
        held.finish(started[-1])
    assert started == [crowd[0], crowd[1], quiet[0], crowd[2], quiet[1], crowd[3]]
    assert held.prefetched_count == 46
    assert held.withdraw(crowd[40].key) is crowd[40]
    assert held.give_back() == [*crowd[4:40], *crowd[41:]]
    assert held.prefetched_count == 0
