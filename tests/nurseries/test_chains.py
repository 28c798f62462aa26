"""`app.chain`: jobs that run one after the other and pass on their results."""

import pytest

from plait import Plait, Status, sleep, sub
from plait.model.errors import InvalidArguments
from plait.testing import Kit

from ..harness import Harness


async def test_a_chain_runs_in_order(app: Plait, kit: Kit, app_harness: Harness) -> None:
    ran: list[str] = []

    @app.job(retries=0)
    async def step(name: str) -> None:
        ran.append(name)
        if name == "bad":
            raise ValueError

    handles = await app.chain(sub(step, "a"), sub(step, "b", priority=0), sub(step, "c"))
    await kit.run_until_idle()
    assert ran == ["a", "b", "c"]
    handles = await app.chain(sub(step, "d"), sub(step, "bad"), sub(step, "e"), sub(step, "f"))
    await kit.run_until_idle()
    assert ran[3:] == ["d", "bad"]
    expected = [Status.SUCCEEDED, Status.DEAD_LETTER, Status.CANCELED, Status.CANCELED]
    assert [await handle.status() for handle in handles] == expected


async def test_a_chain_keeps_what_its_jobs_say(app: Plait, kit: Kit, app_harness: Harness) -> None:
    """T90: a link that is deduplicated is the older job; a link may wait for others too; a tenant or a connection is refused."""
    ran: list[str] = []

    @app.job
    async def step(name: str) -> None:
        ran.append(name)

    held = await step.options(dedupe_key="k", delay="1h").enqueue("held")
    late = await step.options(delay="2h").enqueue("late")
    links = [sub(step, "a"), sub(step.options(dedupe_key="k"), "b"), sub(step.options(after=[late]), "c")]
    handles = await app.chain(*links)
    assert (handles[1].id, handles[1].deduplicated) == (held.id, True)
    for expected in (["a"], ["a", "held"], ["a", "held", "late", "c"]):
        await kit.run_until_idle()
        assert ran == expected
        await kit.advance(hours=1)
    await app_harness.tenant("acme")
    for options in ({"tenant": "acme"}, {"conn": object()}):
        with pytest.raises(InvalidArguments, match="cannot have the options conn or tenant"):
            await app.chain(sub(step, "a"), sub(step.options(**options), "b"))


async def test_a_chain_passes_each_result_on_as_the_first_argument(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def load(path: str) -> list[int]:
        return [len(path), 7]

    @app.job
    async def scale(numbers: list[int], factor: int = 2) -> list[int]:
        return [n * factor for n in numbers]

    @app.job
    def total(numbers: list[int], *, unit: str) -> str:
        return f"{sum(numbers)} {unit}"

    *_, last = await app.chain(sub(load, "abc"), sub(scale), sub(scale, 10), sub(total, unit="m"))
    await kit.run_until_idle()
    assert await last.result(timeout=120) == "200 m"


async def test_a_link_that_has_all_its_arguments_gets_no_result(app: Plait, kit: Kit, app_harness: Harness) -> None:
    seen: list[object] = []

    @app.job
    async def step(name: str = "default") -> str:
        seen.append(name)
        return f"{name}!"

    @app.job
    async def nothing() -> None:
        seen.append(())

    await app.chain(sub(step, "a"), sub(step, "b"), sub(nothing), sub(step, name="c"), sub(step))
    await kit.run_until_idle()
    assert seen == ["a", "b", (), "c", "c!"]


async def test_a_result_that_does_not_fit_the_next_job_fails_it_and_says_why(
    app: Plait, kit: Kit, app_harness: Harness
) -> None:
    @app.job
    async def text() -> str:
        return "abc"

    @app.job(retries=3)
    async def number(n: int, m: int = 1) -> int:
        return n + m

    *_, last = await app.chain(sub(text), sub(number))
    await kit.run_until_idle()
    row = await last.info()
    assert (row.status, row.reason) == (Status.FAILED, "bad_payload")
    assert "Expected `int`, got `str`" in str(row.error)
    with pytest.raises(InvalidArguments, match="Expected `int`, got `str`"):  # checked at the call, as far as possible
        await app.chain(sub(text), sub(number, m="x"))
    with pytest.raises(InvalidArguments, match="missing a required argument: 'n'"):
        await app.chain(sub(number), sub(text))


async def test_a_chain_goes_on_with_the_same_result_after_a_failure(app: Plait, kit: Kit, app_harness: Harness) -> None:
    tries: list[int] = []

    @app.job
    async def first() -> int:
        return 5

    @app.job(retries=2)
    async def second(n: int) -> int:
        tries.append(n)
        if len(tries) < 3:
            raise ValueError
        return n

    *_, last = await app.chain(sub(first), sub(second))
    for _ in range(3):
        await kit.run_until_idle()
        await kit.advance(minutes=10)
    assert await last.result(timeout=120) == 5
    assert tries == [5, 5, 5]


async def test_a_durable_handler_enqueues_its_chain_once(app: Plait, kit: Kit, app_harness: Harness) -> None:
    @app.job
    async def step(n: int) -> int:
        return n + 1

    @app.job
    async def parent() -> int:
        *_, last = await app.chain(sub(step, 1), sub(step))
        await sleep("1h")
        return int(await last.result(timeout=60))

    handle = await parent.enqueue()
    await kit.run_until_idle()
    await kit.advance(hours=1)
    await kit.run_until_idle()
    assert await handle.result(timeout=120) == 3
    assert len(await app_harness.store.jobs.list_jobs(definition="step", all_tenants=True)) == 2
