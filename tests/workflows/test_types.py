"""Unions, discriminated unions and generic models as arguments, results, steps and signals of a durable job, also on a replay."""

from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

import pydantic
import pytest

from plait import JobFailed, Plait, call, fan_out, sleep, sub, transaction, values, wait_for_signal
from plait.model.errors import InvalidArguments, InvalidDefinition
from plait.testing import Kit

T = TypeVar("T")


@dataclass
class Paid:
    cents: int


@dataclass
class Refused:
    why: str


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    name: str


class Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"
    name: str


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


class Opaque:
    pass


Pet = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]
Outcome = Paid | Refused


async def test_a_job_gets_what_its_annotations_say_everywhere(app: Plait, kit: Kit) -> None:
    runs: list[list[Any]] = []

    async def pay(cents: int) -> Outcome:
        return Refused("no money") if cents > 100 else Paid(cents)

    async def in_transaction(conn: Any) -> Page[Pet]:
        return Page[Pet](items=[Dog(name="rex")])

    @app.job
    async def child(outcome: Outcome, pet: Pet | None = None) -> Outcome | Page[Pet]:
        return outcome if pet is None else Page[Pet](items=[pet])

    @app.job(retries=0)
    async def order(pets: list[Pet]) -> Outcome:
        results = await fan_out([sub(child, Paid(1)), sub(child, Refused("x"), Cat(name="tom"))])
        seen: list[Any] = [
            *pets,
            await call(pay, 50),
            await call(pay, 500),
            await transaction(in_transaction),
            await call(child, Refused("here")),
            *values(results),
            await wait_for_signal("news", type=Outcome),
            await wait_for_signal("news", type=Pet),
        ]
        await sleep("1h")
        runs.append(seen)
        return Refused(f"{len(seen)}")

    handle = await order.enqueue([Dog(name="rex"), Cat(name="tom")])
    await handle.signal("news", Refused("by signal"))
    await handle.signal("news", Cat(name="by signal"))
    for _ in range(2):
        await kit.run_until_idle()
        await kit.advance(hours=2)
    assert await handle.result(120) == Refused("10")
    assert runs[-1] == [
        Dog(name="rex"), Cat(name="tom"), Paid(50), Refused("no money"), Page[Pet](items=[Dog(name="rex")]), Refused("here"),
        Paid(1), Page[Pet](items=[Cat(name="tom")]), Refused("by signal"), Cat(name="by signal"),
    ]  # fmt: skip


async def test_a_step_that_cannot_be_decoded_is_refused_before_it_runs(app: Plait, kit: Kit) -> None:
    ran: list[int] = []

    async def opaque() -> Opaque | None:
        ran.append(1)
        return None

    @app.job(retries=0)
    async def parent() -> str:
        for step in (call(opaque), transaction(opaque)):
            with pytest.raises(InvalidDefinition, match=r"step opaque: .*Opaque"):
                await step
        with pytest.raises(
            InvalidArguments, match=r"type must be a type whose values can be decoded from JSON: .*Opaque"
        ):
            await wait_for_signal("never", type=Opaque)
        return "refused"

    handle = await parent.enqueue()
    await kit.run_until_idle()
    assert await handle.result(120) == "refused"
    assert ran == []


async def test_a_signal_that_does_not_fit_its_type_is_an_error_of_the_payload(app: Plait, kit: Kit) -> None:
    @app.job(retries=0)
    async def parent() -> None:
        await wait_for_signal("news", type=Pet)

    handle = await parent.enqueue()
    await handle.signal("news", {"kind": "fish"})
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="the payload of signal 'news' does not match the type"):
        await handle.result(120)
