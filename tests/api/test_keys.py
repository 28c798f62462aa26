"""S16: keys that are guessed, expired, revoked or exceed their role; too many requests, and requests that are too large."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import UUID

from plait.api.authentication import GUESSES, TRUSTED_S
from plait.model.roles import Role
from plait.model.tokens import hash_of, hint_of, new_token

from ..harness import Harness
from .api_client import ApiClient


async def test_a_key_is_made_used_listed_and_revoked(api: ApiClient, harness: Harness) -> None:
    admin = await api.acting("admin", "a")
    made = await admin.ok("POST", "/keys", {"name": "ci", "role": "operator"})
    assert made["key"].startswith("plait_")
    assert made["key"].startswith(made["hint"])
    caller = type(api)(harness, api.app, api.client, made["key"])
    assert (await caller.get("/jobs")).status_code == 200
    listed = (await admin.ok("GET", "/keys"))["items"]
    assert [key["name"] for key in listed] == ["ci", "a test's"]
    assert listed[0]["last_used_at"] is not None
    assert all("key" not in key and "hash" not in key for key in listed)
    assert (await admin.call("DELETE", f"/keys/{made['id']}")).status_code == 204
    assert (await caller.get("/jobs")).status_code == 401
    [entry, *_] = (await admin.ok("GET", "/audit"))["items"]
    assert (entry["action"], entry["object"]) == ("key.revoke", made["id"])


async def test_the_database_has_no_key(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("admin")
    made = await caller.ok("POST", "/keys", {"name": "k", "role": "viewer"}, headers={"Idempotency-Key": "k"})
    for table in ("keys", "audit", "replies", "sessions"):
        text = str(await harness.rows(f"select t::text from plait.{table} t"))
        assert caller.token is not None
        assert caller.token not in text
        assert made["key"] not in text


async def test_nobody_makes_a_key_that_may_do_more_than_itself(api: ApiClient) -> None:
    admin = await api.acting("admin", "a")
    for role in (Role.SUPER_ADMIN, Role.WORKER):
        assert (await admin.post("/keys", {"name": "k", "role": role})).status_code == 403
    assert (await admin.post("/keys", {"name": "k", "role": "admin"}, params={"tenant": "b"})).status_code == 404
    boss = await api.acting("super-admin")
    made = await boss.ok("POST", "/keys", {"name": "k", "role": "worker"})
    assert made["tenant_id"] is None


async def test_an_expired_key_opens_nothing(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("viewer", expires_at=await harness.now() + timedelta(hours=1))
    assert (await caller.get("/jobs")).status_code == 200
    await harness.advance(hours=1)
    api.app.state.guard.forget()
    assert (await caller.get("/jobs")).status_code == 401


async def test_a_revoke_elsewhere_works_within_five_seconds(api: ApiClient, harness: Harness) -> None:
    clock = api.stop_the_clock()
    caller = await api.acting("viewer")
    assert (await caller.get("/jobs")).status_code == 200
    assert caller.key_id is not None
    await harness.store.keys.revoke_key(caller.key_id, all_tenants=True)  # by another process
    clock.seconds = TRUSTED_S
    assert (await caller.get("/jobs")).status_code == 401
    assert TRUSTED_S < 5


async def test_guesses_are_slowed_down(api: ApiClient, harness: Harness) -> None:
    api.stop_the_clock()
    good, late = await api.acting("viewer"), await api.acting("viewer")
    assert (await good.get("/jobs")).status_code == 200
    bad = type(api)(harness, api.app, api.client, "plait_guess")
    codes = [(await bad.get("/jobs")).status_code for _ in range(int(GUESSES[1]) + 5)]
    assert set(codes[: int(GUESSES[1])]) == {401}
    assert codes[-1] == 429
    slowed = await bad.get("/jobs")
    assert int(slowed.headers["retry-after"]) >= 1
    api.app.state.guard.forget()
    assert (await good.get("/jobs")).status_code == 200, (
        "failed logins of others do not lock out a caller that was authenticated before"
    )
    assert (await late.get("/jobs")).status_code == 429


async def test_a_key_that_sends_too_much_waits_and_others_do_not(harness: Harness) -> None:
    async with ApiClient.over(harness, api_rate=0.5) as api:
        api.stop_the_clock()
        busy, calm = await api.acting("viewer"), await api.acting("viewer")
        codes = [(await busy.get("/jobs")).status_code for _ in range(8)]
        assert codes == [200] * 5 + [429] * 3
        assert (await calm.get("/jobs")).status_code == 200


async def test_a_request_that_is_too_large_is_refused_before_it_is_read(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("operator")
    body = b"x" * 3_000_000
    assert (await caller.call("POST", "/jobs", content=body)).status_code == 413

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 100_000

    answer = await caller.call("POST", "/jobs", content=parts(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"


async def test_answers_are_compressed_and_carry_no_leave_for_other_sites(api: ApiClient, harness: Harness) -> None:
    await harness.enqueue_many("add", 20)
    caller = await api.acting("viewer")
    answer = await caller.get("/jobs", headers={"Accept-Encoding": "gzip", "Origin": "https://evil.example"})
    assert answer.headers["content-encoding"] == "gzip"
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    preflight = await caller.call("OPTIONS", "/jobs", headers={"Origin": "https://evil.example"})
    assert preflight.status_code == 405


async def test_a_request_keeps_its_id_where_it_is_a_plain_one(api: ApiClient) -> None:
    caller = await api.acting("viewer")
    assert (await caller.get("/jobs", headers={"X-Request-ID": "r-1"})).headers["x-request-id"] == "r-1"
    assert (await caller.get("/jobs", headers={"X-Request-ID": "a b"})).headers["x-request-id"] != "a b"


async def test_a_key_outlives_no_key_that_it_was_made_with(api: ApiClient, harness: Harness) -> None:
    ends = await harness.now() + timedelta(seconds=60)
    short = await api.acting("admin", "a", expires_at=ends)
    made = await short.ok("POST", "/keys", {"name": "child", "role": "admin"})
    assert made["expires_at"] is not None
    assert datetime.fromisoformat(made["expires_at"]) == ends
    later = {"name": "k", "role": "viewer", "expires_at": (ends + timedelta(seconds=1)).isoformat()}
    refused = await short.post("/keys", later)
    assert refused.status_code == 422
    assert "expires_at must not be later than" in refused.json()["detail"]
    sooner = {**later, "expires_at": (ends - timedelta(seconds=1)).isoformat()}
    assert (await short.post("/keys", sooner)).status_code == 201
    lasting = await api.acting("admin", "a")
    assert (await lasting.ok("POST", "/keys", {"name": "k", "role": "viewer"}))["expires_at"] is None


async def test_a_key_that_is_revoked_makes_no_other_even_while_it_is_still_believed(
    api: ApiClient, harness: Harness
) -> None:
    admin = await api.acting("admin", "a")
    assert (await admin.get("/keys")).status_code == 200
    assert admin.key_id is not None
    await harness.store.keys.revoke_key(
        admin.key_id, all_tenants=True
    )  # by another process: this process caches the key for seconds
    assert (await admin.post("/keys", {"name": "k", "role": "viewer"})).status_code in (401, 403)


async def test_revoking_a_key_lists_its_descendants_and_can_revoke_them(api: ApiClient, harness: Harness) -> None:
    root = await api.acting("admin", "a")
    made = [await root.ok("POST", "/keys", {"name": f"child {n}", "role": "admin"}) for n in range(2)]
    child = type(api)(harness, api.app, api.client, made[0]["key"])
    grandchild = await child.ok("POST", "/keys", {"name": "grandchild", "role": "viewer"})
    boss = await api.acting("super-admin")
    path = f"/keys/{root.key_id}"
    below = (await boss.ok("GET", f"{path}/descendants"))["items"]
    assert [key["name"] for key in below] == ["grandchild", "child 1", "child 0"]
    assert (await (await api.acting("admin", "b")).get(f"{path}/descendants")).status_code == 404

    assert (await boss.call("DELETE", path)).status_code == 204
    assert (await child.get("/jobs")).status_code == 200  # descendants are revoked only on request
    assert (await boss.call("DELETE", path, params={"descendants": "true"})).status_code == 204
    for key in (made[0], made[1], grandchild):
        assert (await type(api)(harness, api.app, api.client, key["key"]).get("/jobs")).status_code == 401
    [entry, *_] = (await boss.ok("GET", "/audit"))["items"]
    assert (entry["action"], entry["detail"]) == ("key.revoke", {"descendants": True})


async def test_a_key_made_in_a_session_is_recorded_with_its_creator(api: ApiClient, harness: Harness) -> None:
    admin = await api.acting("admin", "a")
    opened = await api.client.post("/api/v1/session", json={"key": admin.token})
    assert opened.status_code == 201
    csrf = {"X-CSRF-Token": opened.json()["csrf"]}
    body = {"name": "from a browser", "role": "viewer"}
    made = await api.client.post("/api/v1/keys", json=body, headers=csrf)
    api.client.cookies.clear()
    assert made.status_code == 201, made.text
    assert made.json()["created_by"] == f"key {admin.key_id}, session of a test's"
    below = (await admin.ok("GET", f"/keys/{admin.key_id}/descendants"))["items"]
    assert [key["id"] for key in below] == [made.json()["id"]]


async def test_who_signed_in_by_a_provider_makes_keys_that_outlive_the_session_but_end(
    api: ApiClient, harness: Harness
) -> None:
    """The session's key expires after hours, so a signed-in user must be able to create longer-lived keys for machines."""
    now = await harness.now()
    token = new_token()
    parent = await harness.store.keys.create_key(
        hash=hash_of(token), hint=hint_of(token), name="oidc: ann", role=Role.ADMIN, tenant_id=await harness.tenant("a"),
        expires_at=now + timedelta(hours=12), created_by="oidc",
    )  # fmt: skip
    ann = type(api)(harness, api.app, api.client, token)
    made = await ann.ok("POST", "/keys", {"name": "ci", "role": "operator"})
    assert timedelta(days=89) < datetime.fromisoformat(made["expires_at"]) - now < timedelta(days=91)
    forever = {"name": "k", "role": "viewer", "expires_at": (now + timedelta(days=400)).isoformat()}
    assert (await ann.post("/keys", forever)).status_code == 422
    assert [row.id for row in await harness.store.keys.list_descendants(parent, all_tenants=True)] == [UUID(made["id"])]
