"""One path through every layer: call, fan out, wait, resume, replay."""

from plait import Plait, Status, call, collect_all, fan_out, sub, values
from plait.testing import Kit

from ..harness import Harness


async def test_a_job_fans_out_waits_and_goes_on_with_the_results(app: Plait, kit: Kit, app_harness: Harness) -> None:
    ran: list[str] = []

    @app.job
    async def double(n: int) -> int:
        return 2 * n

    @app.job
    async def total(n: int) -> int:
        async def first() -> int:
            ran.append("first")
            return 1

        one = await call(first)
        results = await fan_out([sub(double, i) for i in range(n)], collect_all())
        assert [result.index for result in results] == list(range(n))
        return one + sum(map(int, values(results)))

    handle = await total.enqueue(10)
    await kit.run_until_idle()
    assert await handle.result(120) == 1 + 90
    assert ran == ["first"]
    assert await app_harness.outcomes(handle.id) == ["suspended", "succeeded"]
    assert (await app_harness.counts()) == {Status.SUCCEEDED: 11}
