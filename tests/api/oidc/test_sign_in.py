"""S16: sign-in through an identity provider."""

from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from plait.api.authentication import COOKIE, CSRF
from plait.api.oidc import AWAY
from plait.model.errors import InvalidConfiguration
from plait.model.oidc_grants import Grant, granted
from plait.model.roles import Role
from plait.runtime.settings import Settings

from ...harness import Harness
from ..api_client import PREFIX, ApiClient
from .identity_provider import CLIENT, Identity
from .sign_in import BACK, ROLES, check_refused, sign_in


async def test_who_signs_in_by_the_provider_has_a_session(
    api: ApiClient, browser: httpx.AsyncClient, identity: Identity, harness: Harness
) -> None:
    assert (await browser.get(f"{PREFIX}/session/ways")).json() == {"oidc": True}
    answer = await sign_in(browser, identity, next="/jobs?status=failed")
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?status=failed")
    assert AWAY not in browser.cookies
    [cookie] = [cookie for cookie in browser.cookies.jar if cookie.name == COOKIE]
    assert cookie.secure
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "strict"
    who = (await browser.get(f"{PREFIX}/session")).json()
    assert (who["role"], who["tenant"], who["name"]) == ("super-admin", None, "oidc: ann@acme.example")
    assert who["logout_url"] == f"{identity.url}/logout?{urlencode({'client_id': CLIENT})}"
    # The session works like any other: a change needs its CSRF token.
    assert (await browser.post(f"{PREFIX}/tenants", json={"slug": "t"})).status_code == 403
    made = await browser.post(f"{PREFIX}/tenants", json={"slug": "t"}, headers={CSRF: who["csrf"]})
    assert made.status_code == 201
    [entry] = await harness.store.audit.list_audit(all_tenants=True, action="session.open")
    assert (entry.actor, entry.object) == ("oidc: ann@acme.example", "u1")


async def test_who_signs_out_is_out(browser: httpx.AsyncClient, identity: Identity) -> None:
    await sign_in(browser, identity)
    who = (await browser.get(f"{PREFIX}/session")).json()
    token = browser.cookies[COOKIE]
    out = await browser.delete(f"{PREFIX}/session", headers={CSRF: who["csrf"]})
    assert out.status_code == 204
    assert (await browser.get(f"{PREFIX}/session", headers={"Cookie": f"{COOKIE}={token}"})).status_code == 401


async def test_an_admin_revokes_who_signed_in_by_the_provider(
    api: ApiClient, browser: httpx.AsyncClient, identity: Identity, harness: Harness
) -> None:
    await sign_in(browser, identity)
    [key] = [key for key in await harness.store.keys.list_keys(all_tenants=True) if key.name.startswith("oidc: ")]
    assert key.expires_at is not None
    root = await api.acting("super-admin")
    await root.ok("DELETE", f"/keys/{key.id}")
    assert (await browser.get(f"{PREFIX}/session")).status_code == 401


async def test_a_new_sign_in_forgets_the_keys_of_sessions_that_ended_long_ago(
    browser: httpx.AsyncClient, identity: Identity, harness: Harness
) -> None:
    await sign_in(browser, identity)
    await harness.advance(days=40)
    await sign_in(browser, identity)
    assert len(await harness.store.keys.list_keys(all_tenants=True)) == 1


async def test_it_is_off_unless_it_is_set_up(harness: Harness) -> None:
    async with ApiClient.over(harness) as api:
        assert (await api.get("/session/ways")).json() == {"oidc": False}
        assert (await api.get("/session/oidc")).status_code == 404
        assert (await api.get("/session/oidc/callback?state=x&code=y")).status_code == 404


@pytest.mark.parametrize(
    "given",
    [
        {"oidc_client_id": None},
        {"oidc_redirect_url": None},
        {"oidc_issuer": "http://id.example"},
        {"oidc_issuer": "file:///etc"},
        {"oidc_redirect_url": "http://plait.example/back"},
        {"oidc_algorithms": ("HS256",)},
        {"oidc_algorithms": ("none",)},
        {"oidc_algorithms": ()},
        {"oidc_skew": 3600},
        {"oidc_roles": {"x": "worker"}},
        {"oidc_roles": {"x": "super-admin@acme"}},
        {"oidc_roles": {"x": "king"}},
    ],
)
def test_settings_that_would_be_unsafe_are_refused(given: dict[str, Any]) -> None:
    whole: dict[str, Any] = {
        "oidc_issuer": "https://id.example",
        "oidc_client_id": "c",
        "oidc_redirect_url": BACK,
        "oidc_roles": ROLES,
    }
    Settings(**whole)
    with pytest.raises(InvalidConfiguration):
        Settings(**{**whole, **given})


# Roles


@pytest.mark.parametrize(
    ("claims", "grant"),
    [
        ({"groups": "ops"}, Grant(Role.SUPER_ADMIN, None)),
        ({"groups": ["devs", "acme-admins"], "org": "b"}, Grant(Role.ADMIN, "acme")),
        ({"groups": ["devs"], "org": "b"}, Grant(Role.OPERATOR, "b")),
        ({"groups": ["devs"]}, None),
        ({"groups": ["devs"], "org": ["b"]}, None),
        ({"groups": ["admins"]}, None),
        ({"groups": [["ops"], {"ops": 1}, None]}, None),
        ({"groups": {"ops": True}}, None),
        ({}, None),
    ],
)
def test_claims_give_the_highest_role_that_they_name_and_nothing_else(
    claims: dict[str, Any], grant: Grant | None
) -> None:
    assert granted(claims, roles=ROLES, role_claim="groups", tenant_claim="org") == grant


def test_a_claim_may_be_deep_inside() -> None:
    claims = {"realm_access": {"roles": ["ops"]}, "https://plait.example/roles": ["devs"]}
    assert granted(claims, roles=ROLES, role_claim="realm_access.roles", tenant_claim=None) == Grant(
        Role.SUPER_ADMIN, None
    )
    namespaced = granted(
        claims, roles={"devs": "viewer@a"}, role_claim="https://plait.example/roles", tenant_claim=None
    )
    assert namespaced == Grant(Role.VIEWER, "a")


async def test_a_person_of_a_tenant_sees_that_tenant_alone(
    browser: httpx.AsyncClient, identity: Identity, harness: Harness
) -> None:
    for tenant in ("acme", "other"):
        await harness.enqueue("add", tenant=tenant)
    identity.claims |= {"groups": ["devs"], "org": "acme"}
    await sign_in(browser, identity)
    jobs = (await browser.get(f"{PREFIX}/jobs")).json()["items"]
    assert {job["tenant_id"] for job in jobs} == {str(await harness.tenant("acme"))}
    assert (await browser.get(f"{PREFIX}/jobs?tenant=other")).status_code == 404


@pytest.mark.parametrize(
    "claims", [{"groups": []}, {"groups": ["devs"], "org": "nowhere"}, {"groups": ["devs"], "org": "'; --"}]
)
async def test_who_is_known_but_has_no_role_or_no_tenant_is_not_let_in(
    browser: httpx.AsyncClient, identity: Identity, claims: dict[str, Any], harness: Harness
) -> None:
    identity.claims |= claims
    check_refused(await sign_in(browser, identity), browser, 403)
    assert await harness.store.keys.list_keys(all_tenants=True) == []
