"""Embedded views: a link that works once, and a session with restricted permissions."""

import httpx
import pytest

from plait.api.authentication import COOKIE
from plait.model.errors import InvalidConfiguration
from plait.runtime.settings import Settings

from ..harness import Harness
from .api_client import ApiClient


async def _view(caller: ApiClient, **wanted: object) -> dict[str, str]:
    """Create the session of a view, as the page in the frame does. Returns its headers."""
    made = await caller.ok("POST", "/embeds", wanted)
    link = made["url"].partition("#")[2]
    entered = await ApiClient(caller.harness, caller.app, caller.client).ok("POST", "/embeds/session", {"link": link})
    return {"Authorization": f"Session {entered['token']}"}


async def test_a_view_sees_its_tenant_and_does_what_its_role_may(api: ApiClient, harness: Harness) -> None:
    mine, theirs = await harness.enqueue(tenant="a"), await harness.enqueue(tenant="b")
    nobody = ApiClient(harness, api.app, api.client)
    for role, status in (("viewer", 403), ("operator", 200)):
        view = await _view(await api.acting("admin", "a"), role=role)
        who = await nobody.ok("GET", "/session", headers=view)
        assert (who["role"], who["tenant"], who["csrf"]) == (role, "a", None)
        assert [one["id"] for one in (await nobody.ok("GET", "/jobs", headers=view))["items"]] == [str(mine)]
        assert (await nobody.get(f"/jobs/{theirs}", headers=view)).status_code == 404
        assert (await nobody.get("/jobs", params={"tenant": "b"}, headers=view)).status_code == 404
        assert (await nobody.get("/keys", headers=view)).status_code == 403, "the view does not have the role admin"
        assert (await nobody.post(f"/jobs/{mine}/cancel", {}, headers=view)).status_code == status
    [entry, *_] = await harness.store.audit.list_audit(tenant_id=await harness.tenant("a"), action="embed.create")
    assert entry.object == "a"


async def test_a_link_works_once_and_not_for_long(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("viewer")
    nobody = ApiClient(harness, api.app, api.client)
    made = await caller.ok("POST", "/embeds", {})
    link = {"link": made["url"].partition("#")[2]}
    assert (await nobody.get("/session/link", params={"token": link["link"]})).status_code == 401, "not a sign-in link"
    assert (await nobody.post("/embeds/session", link)).status_code == 201
    assert (await nobody.post("/embeds/session", link)).status_code == 401
    late = {"link": (await caller.ok("POST", "/embeds", {}))["url"].partition("#")[2]}
    await harness.advance(minutes=6)
    assert (await nobody.post("/embeds/session", late)).status_code == 401


async def test_a_view_ends_with_its_time_and_with_its_key(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("viewer")
    nobody = ApiClient(harness, api.app, api.client)
    short, long = await _view(caller, ttl_seconds=60), await _view(caller)
    await harness.advance(seconds=61)
    api.app.state.guard.forget()
    assert (await nobody.get("/jobs", headers=short)).status_code == 401
    assert (await nobody.get("/jobs", headers=long)).status_code == 200
    assert caller.key_id is not None
    await harness.store.keys.revoke_key(caller.key_id, all_tenants=True)
    api.app.state.guard.forget()
    assert (await nobody.get("/jobs", headers=long)).status_code == 401


async def test_a_view_makes_no_other_and_is_never_more_than_its_key(api: ApiClient, harness: Harness) -> None:
    viewer = await api.acting("viewer")
    nobody = ApiClient(harness, api.app, api.client)
    assert (await viewer.post("/embeds", {"role": "operator"})).status_code == 403
    assert (await viewer.post("/embeds", {"role": "admin"})).status_code == 422
    view = await _view(viewer)
    assert (await nobody.post("/embeds", {}, headers=view)).status_code == 403
    assert (await (await api.acting("super-admin")).post("/embeds", {})).status_code == 422, "a view needs a tenant"


async def test_a_views_session_is_no_cookie_and_a_cookies_is_no_view(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("operator")
    token = (await _view(caller))["Authorization"].split()[1]
    nobody = ApiClient(harness, api.app, api.client)
    assert (await nobody.get("/jobs", headers={"Cookie": f"{COOKIE}={token}"})).status_code == 401
    assert (await nobody.get("/jobs", headers={"Authorization": f"Bearer {token}"})).status_code == 401
    async with httpx.AsyncClient(transport=httpx.ASGITransport(api.app), base_url="http://plait.test") as browser:
        await browser.post("/api/v1/session", json={"key": caller.token})
        signed_in = {"Authorization": f"Session {browser.cookies[COOKIE]}"}
    assert (await nobody.get("/jobs", headers=signed_in)).status_code == 401


async def test_what_is_secret_is_not_kept(api: ApiClient, harness: Harness) -> None:
    caller = await api.acting("viewer")
    headers = {"Idempotency-Key": "k"}
    links = [(await caller.ok("POST", "/embeds", {}, headers=headers))["url"].partition("#")[2] for _ in range(2)]
    for table in ("audit", "replies", "sessions"):
        text = str(await harness.rows(f"select t::text from plait.{table} t"))
        assert not any(link in text for link in links)


@pytest.mark.parametrize(
    "origin", ["*", "app.example.com", "https://a; script-src *", "https://a/path", "javascript:x"]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidConfiguration, match="must be origins like"):
        Settings(api_embed=origin)
