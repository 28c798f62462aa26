"""S16: keys that are guessed, expired, revoked, or want to be more; and requests that are too many or too large."""

from collections.abc import AsyncIterator
from datetime import timedelta

from plait.api.guard import GUESSES, TRUSTED_S
from plait.model.roles import Role

from ..world import World
from .calling import Calling


async def test_a_key_is_made_used_listed_and_revoked(api: Calling, world: World) -> None:
    admin = await api.acting("admin", "a")
    made = await admin.ok("POST", "/keys", {"name": "ci", "role": "operator"})
    assert made["key"].startswith("plait_")
    assert made["key"].startswith(made["hint"])
    caller = type(api)(world, api.app, api.client, made["key"])
    assert (await caller.get("/jobs")).status_code == 200
    listed = (await admin.ok("GET", "/keys"))["items"]
    assert [key["name"] for key in listed] == ["ci", "a test's"]
    assert listed[0]["last_used_at"] is not None
    assert all("key" not in key and "hash" not in key for key in listed)
    assert (await admin.call("DELETE", f"/keys/{made['id']}")).status_code == 204
    assert (await caller.get("/jobs")).status_code == 401
    [entry, *_] = (await admin.ok("GET", "/audit"))["items"]
    assert (entry["action"], entry["object"]) == ("key.revoke", made["id"])


async def test_the_database_has_no_key(api: Calling, world: World) -> None:
    caller = await api.acting("admin")
    made = await caller.ok("POST", "/keys", {"name": "k", "role": "viewer"}, headers={"Idempotency-Key": "k"})
    for table in ("keys", "audit", "replies", "sessions"):
        text = str(await world.rows(f"select t::text from plait.{table} t"))
        assert caller.token is not None
        assert caller.token not in text
        assert made["key"] not in text


async def test_nobody_makes_a_key_that_may_do_more_than_itself(api: Calling) -> None:
    admin = await api.acting("admin", "a")
    for role in (Role.SUPER_ADMIN, Role.WORKER):
        assert (await admin.post("/keys", {"name": "k", "role": role})).status_code == 403
    assert (await admin.post("/keys", {"name": "k", "role": "admin"}, params={"tenant": "b"})).status_code == 404
    boss = await api.acting("super-admin")
    made = await boss.ok("POST", "/keys", {"name": "k", "role": "worker"})
    assert made["tenant_id"] is None


async def test_an_expired_key_opens_nothing(api: Calling, world: World) -> None:
    caller = await api.acting("viewer", expires_at=await world.now() + timedelta(hours=1))
    assert (await caller.get("/jobs")).status_code == 200
    await world.advance(hours=1)
    api.app.state.guard.forget()
    assert (await caller.get("/jobs")).status_code == 401


async def test_a_revoke_elsewhere_works_within_five_seconds(api: Calling, world: World) -> None:
    clock = api.stop_the_clock()
    caller = await api.acting("viewer")
    assert (await caller.get("/jobs")).status_code == 200
    assert caller.key_id is not None
    await world.store.keys.revoke_key(caller.key_id, all_tenants=True)  # by another process
    clock.seconds = TRUSTED_S
    assert (await caller.get("/jobs")).status_code == 401
    assert TRUSTED_S < 5


async def test_guesses_are_slowed_down(api: Calling, world: World) -> None:
    api.stop_the_clock()
    good, late = await api.acting("viewer"), await api.acting("viewer")
    assert (await good.get("/jobs")).status_code == 200
    bad = type(api)(world, api.app, api.client, "plait_guess")
    codes = [(await bad.get("/jobs")).status_code for _ in range(int(GUESSES[1]) + 5)]
    assert set(codes[: int(GUESSES[1])]) == {401}
    assert codes[-1] == 429
    slowed = await bad.get("/jobs")
    assert int(slowed.headers["retry-after"]) >= 1
    api.app.state.guard.forget()
    assert (await good.get("/jobs")).status_code == 200, "who was let in before is not kept out by others"
    assert (await late.get("/jobs")).status_code == 429


async def test_a_key_that_sends_too_much_waits_and_others_do_not(world: World) -> None:
    async with Calling.over(world, api_rate=0.5) as api:
        api.stop_the_clock()
        busy, calm = await api.acting("viewer"), await api.acting("viewer")
        codes = [(await busy.get("/jobs")).status_code for _ in range(8)]
        assert codes == [200] * 5 + [429] * 3
        assert (await calm.get("/jobs")).status_code == 200


async def test_a_request_that_is_too_large_is_refused_before_it_is_read(api: Calling, world: World) -> None:
    caller = await api.acting("operator")
    body = b"x" * 3_000_000
    assert (await caller.call("POST", "/jobs", content=body)).status_code == 413

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 100_000

    answer = await caller.call("POST", "/jobs", content=parts(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"


async def test_answers_are_compressed_and_carry_no_leave_for_other_sites(api: Calling, world: World) -> None:
    await world.enqueue_many("add", 20)
    caller = await api.acting("viewer")
    answer = await caller.get("/jobs", headers={"Accept-Encoding": "gzip", "Origin": "https://evil.example"})
    assert answer.headers["content-encoding"] == "gzip"
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    preflight = await caller.call("OPTIONS", "/jobs", headers={"Origin": "https://evil.example"})
    assert preflight.status_code == 405


async def test_a_request_keeps_its_id_where_it_is_a_plain_one(api: Calling) -> None:
    caller = await api.acting("viewer")
    assert (await caller.get("/jobs", headers={"X-Request-ID": "r-1"})).headers["x-request-id"] == "r-1"
    assert (await caller.get("/jobs", headers={"X-Request-ID": "a b"})).headers["x-request-id"] != "a b"
