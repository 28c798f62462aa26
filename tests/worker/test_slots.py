"""How many jobs of each queue a worker claims: never more than it has room for, and never none of a queue it serves."""

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


def runs(queue: str, count: int) -> list[Run]:
    claimed = [Claimed(new_id(), 1, 0, 5, DEFAULT_TENANT, "nothing", queue, "{}", None, None) for _ in range(count)]
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
    assert held.wanted()["a"] > 1  # it has more again


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

    async with running(app):  # of both queues, with all of its room for either
        handle = await rare.enqueue()
        assert await handle.result(120) == "seen"
