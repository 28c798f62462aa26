"""A saga. Each step has a compensation. When a later step fails permanently, the compensations run in reverse order.

Prints:

    hotel refused: the hotel is full
    did: book flight, book car, cancel car, cancel flight
"""

import asyncio
from collections.abc import Awaitable, Callable

from plait import PermanentError, Plait, call

app = Plait()
did: list[str] = []


async def book_flight(trip: str) -> str:
    did.append("book flight")
    return f"flight for {trip}"


async def cancel_flight(_booking: str) -> None:
    did.append("cancel flight")


async def book_car(trip: str) -> str:
    did.append("book car")
    return f"car for {trip}"


async def cancel_car(_booking: str) -> None:
    did.append("cancel car")


async def book_hotel(_trip: str) -> str:
    raise PermanentError("the hotel is full")  # checkpointed: a replay raises it again without calling the hotel


@app.job
async def book(trip: str) -> str:
    undo: list[tuple[Callable[[str], Awaitable[None]], str]] = []
    try:
        undo.append((cancel_flight, await call(book_flight, trip)))
        undo.append((cancel_car, await call(book_car, trip)))
        await call(book_hotel, trip)
    except PermanentError as error:
        for compensate, booking in reversed(undo):
            await call(compensate, booking)
        return f"hotel refused: {error}"
    return "booked"


async def main() -> None:
    print(await (await book.enqueue("Lisbon")).result(timeout="1m"))
    print("did:", ", ".join(did))


if __name__ == "__main__":
    asyncio.run(main())
