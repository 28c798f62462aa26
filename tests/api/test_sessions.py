"""S15: browser sessions. Each change needs the session's CSRF token, which another site can't know."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from plait.api.access import ROUTES
from plait.api.authentication import COOKIE, CSRF
from plait.model.roles import Role
from plait.model.tokens import hash_of, new_token

from ..harness import Harness
from .api_client import PREFIX, ApiClient
from .samples import make_things, names, sample

CHANGES = [name for name in names() if not name.startswith("GET ") and ROUTES[name] not in (None, Role.WORKER)]


@pytest.fixture
async def browser(api: ApiClient) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(api.app), base_url="https://plait.test") as client:
        yield client


async def _signed_in(api: ApiClient, browser: httpx.AsyncClient, role: str = "super-admin") -> str:
    caller = await api.acting(role)
    opened = await browser.post(f"{PREFIX}/session", json={"key": caller.token})
    assert opened.status_code == 201, opened.text
    return str(opened.json()["csrf"])


async def test_a_session_is_a_cookie_that_nobody_else_can_use(
    api: ApiClient, browser: httpx.AsyncClient, harness: Harness
) -> None:
    await _signed_in(api, browser)
    [cookie] = [cookie for cookie in browser.cookies.jar if cookie.name == COOKIE]
    assert cookie.secure
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "strict"
    assert (await browser.get(f"{PREFIX}/jobs")).status_code == 200
    who = (await browser.get(f"{PREFIX}/session")).json()
    assert who["role"] == "super-admin"
    assert str(await harness.sql("select hash from plait.sessions")) not in browser.cookies.values()


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_without_the_token_is_refused(
    api: ApiClient, browser: httpx.AsyncClient, harness: Harness, name: str
) -> None:
    made = sample(name, await make_things(harness, "default"))
    csrf = await _signed_in(api, browser)
    before = await harness.snapshot()
    for headers in ({}, {CSRF: ""}, {CSRF: "x"}, {CSRF: csrf[:-1]}):
        answer = await browser.request(made.method, made.path, headers=headers, **made.options)
        assert answer.status_code == 403
        assert answer.json()["type"] == "urn:plait:problem:csrf"
    assert await harness.snapshot() == before
    allowed = await browser.request(made.method, made.path, headers={CSRF: csrf}, **made.options)
    assert allowed.status_code not in (401, 403), allowed.text


async def test_a_session_ends_with_its_key_its_time_or_by_signing_out(
    api: ApiClient, browser: httpx.AsyncClient, harness: Harness
) -> None:
    csrf = await _signed_in(api, browser, "admin")
    cookie = browser.cookies[COOKIE]
    assert (await browser.delete(f"{PREFIX}/session", headers={CSRF: csrf})).status_code == 204
    browser.cookies.set(COOKIE, cookie, domain="plait.test")
    assert (await browser.get(f"{PREFIX}/jobs")).status_code == 401

    await _signed_in(api, browser, "admin")
    [key, *_] = await harness.store.keys.list_keys(all_tenants=True)
    await harness.store.keys.revoke_key(key.id, all_tenants=True)
    api.app.state.guard.forget()
    assert (await browser.get(f"{PREFIX}/jobs")).status_code == 401

    await _signed_in(api, browser, "admin")
    await harness.advance(hours=13)
    api.app.state.guard.forget()
    assert (await browser.get(f"{PREFIX}/jobs")).status_code == 401


async def test_a_login_link_works_once_and_not_late(
    api: ApiClient, browser: httpx.AsyncClient, harness: Harness
) -> None:
    caller = await api.acting("super-admin")
    assert caller.key_id is not None

    async def link() -> str:
        token = new_token()
        assert caller.key_id is not None
        await harness.store.keys.open_session(
            caller.key_id, hash=hash_of(token), csrf="", ttl=timedelta(minutes=10), link=True
        )
        return f"{PREFIX}/session/link?token={token}"

    path = await link()
    followed = await browser.get(path)
    assert (followed.status_code, followed.headers["location"]) == (303, "/")
    assert (await browser.get(f"{PREFIX}/jobs")).status_code == 200
    assert (await browser.get(path)).status_code == 401
    late = await link()
    await harness.advance(minutes=11)
    assert (await browser.get(late)).status_code == 401
    unused = await link()
    browser.cookies.clear()
    browser.cookies.set(COOKIE, unused.partition("=")[2], domain="plait.test")
    assert (await browser.get(f"{PREFIX}/jobs")).status_code == 401, "a link does not authenticate requests"


async def test_a_key_that_is_none_opens_no_session(api: ApiClient, browser: httpx.AsyncClient) -> None:
    assert (await browser.post(f"{PREFIX}/session", json={"key": "plait_x"})).status_code == 401
    assert not browser.cookies
