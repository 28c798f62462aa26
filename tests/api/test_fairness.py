"""Fair use of an API process: one key or tenant can't use up its resources."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from plait.api.caller import Caller
from plait.api.fairness import KEY_RATE, TENANT_RATE, Fairness, Shares
from plait.api.problems import Refused
from plait.model.roles import Role

from ..harness import Harness
from ..waiting import eventually
from .api_client import ApiClient, new_key
from .api_server import serve_api


def a_caller(tenant: Any = None) -> Caller:
    return Caller(key_id=uuid4(), role=Role.VIEWER, tenant_id=tenant, tenant="t", name="k")


def test_a_key_that_asks_for_too_much_is_told_when_to_ask_again() -> None:
    now = 0.0
    fairness = Fairness(clock=lambda: now)
    tenant = uuid4()
    greedy, other = a_caller(tenant), a_caller(tenant)
    for _ in range(int(KEY_RATE[1])):
        fairness.take(greedy)
    with pytest.raises(Refused, match="this key") as refused:
        fairness.take(greedy)
    assert refused.value.status == 429
    assert refused.value.headers == {"Retry-After": "1"}
    fairness.take(other)
    now = 1.0
    fairness.take(greedy)


def test_a_tenant_with_many_keys_leaves_others_their_share() -> None:
    fairness = Fairness(clock=lambda: 0.0)
    tenant = uuid4()
    for _ in range(int(TENANT_RATE[1])):
        fairness.take(a_caller(tenant))
    with pytest.raises(Refused, match="this tenant"):
        fairness.take(a_caller(tenant))
    fairness.take(a_caller(uuid4()))


def test_shares_are_given_back() -> None:
    shares = Shares("streams", key=2, tenant=3)
    tenant = uuid4()
    one, two = a_caller(tenant), a_caller(tenant)
    for caller in (one, one, two):
        shares.check(caller)
        shares.add(caller)
    for caller, words in ((one, "the limit of this key is 2"), (two, "the limit of this tenant is 3")):
        with pytest.raises(Refused, match=words):
            shares.check(caller)
    shares.check(a_caller(uuid4()))
    shares.remove(one)
    shares.check(two)


async def test_previews_and_renders_are_shared(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    greedy, other = await api.acting("operator", "a"), await api.acting("operator", "b")
    preview = {"cron_expr": "0 2 * * *"}
    render = {"definition_key": "add"}
    api.app.state.fairness = drained = Fairness(clock=lambda: 0.0)  # a frozen clock: no token is refilled
    caller = Caller(
        key_id=greedy.key_id or uuid4(), role=Role.OPERATOR, tenant_id=await harness.tenant("a"), tenant="a", name="k"
    )
    for _ in range(int(KEY_RATE[1])):
        drained.take(caller)
    for path, body in (("/jobs/triggers/preview", preview), ("/jobs/triggers/render", render)):
        refused = await greedy.post(path, body)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
    assert (await other.post("/jobs/triggers/preview", preview)).status_code == 200
    assert (await other.post("/jobs/triggers/render", render)).status_code == 200


async def test_one_key_does_not_take_all_streams(harness: Harness) -> None:
    with serve_api(harness.database.url, api_streams_key=3, api_streams_tenant=5) as url:
        tokens = [
            (await new_key(harness.store, "viewer", await harness.tenant(tenant)))[1] for tenant in ("a", "a", "b")
        ]
        greedy, second, other = ({"Authorization": f"Bearer {token}"} for token in tokens)
        async with httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=60) as client:
            opened = [await _open(client, greedy) for _ in range(3)]
            assert {answer.status_code for answer in opened} == {200}
            refused = await _open(client, greedy)
            assert refused.status_code == 429
            assert "retry-after" in refused.headers
            more = [await _open(client, second) for _ in range(2)]
            assert {answer.status_code for answer in more} == {200}
            assert (await _open(client, second)).status_code == 429
            others = await _open(client, other)
            assert others.status_code == 200
            await opened[0].aclose()

            async def room() -> bool:
                again = await _open(client, greedy)
                if again.status_code == 200:
                    await again.aclose()
                return again.status_code == 200

            await eventually(room, what="room for another stream")
            for answer in (*opened[1:], *more, others):
                await answer.aclose()


async def _open(client: httpx.AsyncClient, headers: dict[str, str]) -> httpx.Response:
    """A stream that has started, or the error response."""
    answer = await client.send(client.build_request("GET", "/stream", headers=headers), stream=True)
    if answer.status_code == 200:
        lines = answer.extensions["lines"] = answer.aiter_lines()  # a reference, because the GC would close the stream
        async for line in lines:
            if line == ": hello":
                break
    return answer
