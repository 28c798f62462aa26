"""Writes that share a statement: a caller that is canceled does not take its write along."""

import asyncio
from collections.abc import Sequence

import pytest

from plait.sdk.batches import Batches


class _Database:
    """Answers a batch when `answer` is set."""

    def __init__(self) -> None:
        self.sent: list[list[int]] = []
        self.arrived = asyncio.Event()
        self.answer = asyncio.Event()

    async def send(self, batch: Sequence[int]) -> list[int]:
        self.sent.append(list(batch))
        self.arrived.set()
        await self.answer.wait()
        return [10 * one for one in batch]


async def test_a_write_whose_caller_was_canceled_is_answered_on_another_future() -> None:
    database = _Database()
    batches = Batches(database.send)
    first, second = batches.add(1), batches.add(2)
    await database.arrived.wait()
    first.cancel()
    again = batches.renew(first)
    assert again is not None
    database.answer.set()
    assert (await again, await second, database.sent) == (10, 20, [[1, 2]])


async def test_a_write_that_is_not_sent_yet_can_be_awaited_again() -> None:
    database = _Database()
    batches = Batches(database.send)
    batches.add(1)
    await database.arrived.wait()
    later = batches.add(2)
    later.cancel()
    again = batches.renew(later)
    assert again is not None
    database.answer.set()
    assert (await again, database.sent) == (20, [[1], [2]])


async def test_a_write_that_was_answered_has_no_other_future() -> None:
    database = _Database()
    batches = Batches(database.send)
    database.answer.set()
    future = batches.add(1)
    assert await future == 10
    assert batches.renew(future) is None


async def test_a_write_that_the_database_rejects_ends_a_renewed_future_too() -> None:
    database = _Database()

    async def refuse(batch: Sequence[int]) -> list[int]:
        await database.send(batch)
        raise ValueError("rejected")

    batches = Batches(refuse)
    future = batches.add(1)
    await database.arrived.wait()
    future.cancel()
    again = batches.renew(future)
    assert again is not None
    database.answer.set()
    with pytest.raises(ValueError, match="rejected"):
        await again
