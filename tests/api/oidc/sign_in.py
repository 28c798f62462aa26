"""A browser that signs in through an identity provider."""

from typing import Any

import httpx

from plait.api.authentication import COOKIE

from ..api_client import PREFIX, ApiClient
from .identity_provider import CLIENT, SECRET, Identity

BACK = f"https://plait.test{PREFIX}/session/oidc/callback"
ROLES = {"ops": "super-admin", "acme-admins": "admin@acme", "devs": "operator"}


def settings_of(identity: Identity) -> dict[str, Any]:
    return {
        "oidc_issuer": identity.url,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SECRET,
        "oidc_redirect_url": BACK,
        "oidc_roles": ROLES,
        "oidc_tenant_claim": "org",
    }


def new_browser(api: ApiClient) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(api.app), base_url="https://plait.test")


async def sent_away(browser: httpx.AsyncClient, **query: str) -> str:
    """The provider's URL, to which the browser is redirected."""
    answer = await browser.get(f"{PREFIX}/session/oidc", params=query)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def sign_in(browser: httpx.AsyncClient, identity: Identity, **query: str) -> httpx.Response:
    return await browser.get(identity.authorize(await sent_away(browser, **query)))


def check_refused(answer: httpx.Response, browser: httpx.AsyncClient, status: int = 401) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert COOKIE not in browser.cookies
