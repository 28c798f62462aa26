"""S16: attacks on the sign-in through an identity provider."""

import base64
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import jwt
import pytest

from plait.api import oidc_provider as provider_module
from plait.api.oidc import AWAY

from ...harness import Harness
from ..api_client import PREFIX, ApiClient
from .identity_provider import CLIENT, EC_KEY, FOREIGN_KEY, RSA_KEY, Identity, public_pem
from .sign_in import check_refused, new_browser, sent_away, sign_in


def _changed(query: dict[str, str | None]) -> Callable[[str], str]:
    def change(url: str) -> str:
        parts = urlsplit(url)
        whole = {**dict(parse_qsl(parts.query)), **query}
        return f"{parts.scheme}://{parts.netloc}{parts.path}?" + urlencode(
            {k: v for k, v in whole.items() if v is not None}
        )

    return change


@pytest.mark.parametrize(
    "query",
    [
        {"state": "another"}, {"state": None}, {"state": ""}, {"code": None}, {"code": "guessed"},
        {"iss": "https://evil.example"}, {"error": "access_denied"},
    ],
)  # fmt: skip
async def test_an_answer_that_was_tampered_with_is_refused(
    browser: httpx.AsyncClient, identity: Identity, query: dict[str, str | None]
) -> None:
    back = identity.authorize(await sent_away(browser))
    check_refused(await browser.get(_changed(query)(back)), browser)


async def test_an_answer_without_its_issuer_is_refused_where_the_provider_says_that_it_names_it(
    browser: httpx.AsyncClient, identity: Identity
) -> None:
    identity.document = {"authorization_response_iss_parameter_supported": True}
    back = identity.authorize(await sent_away(browser))
    check_refused(await browser.get(_changed({"iss": None})(back)), browser)
    assert (await sign_in(browser, identity)).status_code == 303


async def test_an_answer_in_another_browser_is_refused(
    api: ApiClient, browser: httpx.AsyncClient, identity: Identity
) -> None:
    """Login CSRF: a victim who follows an attacker's link must not be signed in as the attacker."""
    back = identity.authorize(await sent_away(browser))
    async with new_browser(api) as victim:
        check_refused(await victim.get(back), victim)
        await sent_away(victim)  # the victim has started its own sign-in
        check_refused(await victim.get(back), victim)


async def test_an_answer_works_once(api: ApiClient, browser: httpx.AsyncClient, identity: Identity) -> None:
    back = identity.authorize(await sent_away(browser))
    kept = browser.cookies[AWAY]
    assert (await browser.get(back)).status_code == 303
    async with new_browser(api) as thief:
        thief.cookies.set(AWAY, kept, domain="plait.test", path="/")
        check_refused(await thief.get(back), thief)  # the code was already used


async def test_a_stolen_code_is_worth_nothing_without_its_verifier(
    api: ApiClient, browser: httpx.AsyncClient, identity: Identity
) -> None:
    stolen = dict(parse_qsl(urlsplit(identity.authorize(await sent_away(browser))).query))["code"]
    async with new_browser(api) as thief:
        own = identity.authorize(await sent_away(thief))
        check_refused(await thief.get(_changed({"code": stolen})(own)), thief)


def _unsigned(claims: dict[str, Any]) -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims)}."


def _with_public_key(claims: dict[str, Any]) -> str:
    """A token signed with HS256 and the public key as the secret. PyJWT refuses to create it, so it is built by hand."""
    import hashlib
    import hmac

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    head = part(json.dumps({"alg": "HS256", "kid": "r1"}).encode()) + "." + part(json.dumps(claims).encode())
    return head + "." + part(hmac.new(public_pem(), head.encode(), hashlib.sha256).digest())


def _rs256(claims: dict[str, Any], **headers: str) -> str:
    return jwt.encode(claims, RSA_KEY, "RS256", headers={"kid": "r1", **headers})


FORGERIES: dict[str, Callable[[dict[str, Any]], str]] = {
    "no signature": _unsigned,
    "HS256 with the public key": _with_public_key,
    "another's key": lambda claims: jwt.encode(claims, FOREIGN_KEY, "RS256", headers={"kid": "r1"}),
    "another's key, unknown": lambda claims: jwt.encode(claims, FOREIGN_KEY, "RS256", headers={"kid": "mine"}),
    "its own key in the header": lambda claims: jwt.encode(
        claims,
        FOREIGN_KEY,
        "RS256",
        headers={"kid": "r1", "jwk": json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(FOREIGN_KEY.public_key()))},
    ),
    "a key for encryption": lambda claims: _rs256(claims, kid="enc"),
    "an algorithm that is not allowed": lambda claims: jwt.encode(claims, RSA_KEY, "RS512", headers={"kid": "r1"}),
    "a key of another kind": lambda claims: _rs256(claims, kid="e1"),
    "another nonce": lambda claims: _rs256({**claims, "nonce": "x"}),
    "no nonce": lambda claims: _rs256({k: v for k, v in claims.items() if k != "nonce"}),
    "a nonce that is no text": lambda claims: _rs256({**claims, "nonce": ["x"]}),
    "another audience": lambda claims: _rs256({**claims, "aud": "other"}),
    "no audience": lambda claims: _rs256({k: v for k, v in claims.items() if k != "aud"}),
    "several audiences, for whom it does not say": lambda claims: _rs256({**claims, "aud": [CLIENT, "other"]}),
    "made for another party": lambda claims: _rs256({**claims, "azp": "other"}),
    "another issuer": lambda claims: _rs256({**claims, "iss": "https://evil.example"}),
    "no issuer": lambda claims: _rs256({k: v for k, v in claims.items() if k != "iss"}),
    "expired": lambda claims: _rs256({**claims, "iat": time.time() - 900, "exp": time.time() - 60}),
    "no expiry": lambda claims: _rs256({k: v for k, v in claims.items() if k != "exp"}),
    "from the future": lambda claims: _rs256({**claims, "iat": time.time() + 600, "exp": time.time() + 900}),
    "not yet": lambda claims: _rs256({**claims, "nbf": time.time() + 600}),
    "nobody": lambda claims: _rs256({k: v for k, v in claims.items() if k != "sub"}),
    "half a token": lambda claims: _rs256(claims)[:-20],
    "another's claims, its signature": lambda claims: ".".join(
        [_rs256(claims).split(".")[0], _unsigned({**claims, "sub": "root"}).split(".")[1], _rs256(claims).split(".")[2]]
    ),
    "no token": lambda _: "x",
    "nothing": lambda _: "",
}


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_token_that_proves_nothing_is_refused(
    browser: httpx.AsyncClient, identity: Identity, name: str, harness: Harness
) -> None:
    """S16: alg=none, a wrong audience, and other forgeries."""
    identity.signed = FORGERIES[name]
    check_refused(await sign_in(browser, identity), browser)
    assert await harness.store.keys.list_keys(all_tenants=True) == []
    identity.signed = None
    assert (await sign_in(browser, identity)).status_code == 303


async def test_a_clock_that_differs_a_little_does_no_harm_and_other_keys_of_the_providers_do(
    browser: httpx.AsyncClient, identity: Identity
) -> None:
    identity.signed = lambda claims: _rs256({**claims, "iat": time.time() + 20, "exp": time.time() - 10})
    assert (await sign_in(browser, identity)).status_code == 303
    identity.signed = lambda claims: jwt.encode(claims, EC_KEY, "ES256", headers={"kid": "e1"})
    assert (await sign_in(browser, identity)).status_code == 303
    identity.signed = lambda claims: _rs256({**claims, "aud": [CLIENT, "other"], "azp": CLIENT})
    assert (await sign_in(browser, identity)).status_code == 303


async def test_new_keys_of_the_provider_are_found_but_not_asked_for_at_everybodys_word(
    api: ApiClient, browser: httpx.AsyncClient, identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = identity.key_set()["keys"]
    identity.keys = whole[:2]
    assert (await sign_in(browser, identity)).status_code == 401
    assert (await sign_in(browser, identity)).status_code == 401
    assert identity.asked.count("/keys") == 1  # an unknown key id does not cause repeated requests
    identity.keys = whole
    monkeypatch.setattr(provider_module, "RETRY_S", 0.0)
    assert (await sign_in(browser, identity)).status_code == 303
    assert identity.asked.count("/.well-known/openid-configuration") == 1


@pytest.mark.parametrize(
    "next_",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil",
        "/\t/evil.example",
        "javascript:alert(1)",
        "",
        "/a b",
        "/%0d\n",
    ],
)
async def test_nobody_is_sent_to_another_site_after_signing_in(
    browser: httpx.AsyncClient, identity: Identity, next_: str
) -> None:
    answer = await browser.get(f"{PREFIX}/session/oidc", params={"next": next_})
    assert answer.status_code == 422
    # A cookie that was modified is rejected too.
    back = identity.authorize(await sent_away(browser))
    away = json.loads(base64.urlsafe_b64decode(browser.cookies[AWAY]))
    forged = base64.urlsafe_b64encode(json.dumps({**away, "next": next_}).encode()).decode()
    browser.cookies.clear()
    browser.cookies.set(AWAY, forged, domain="plait.test", path="/")
    assert (await browser.get(back)).headers["location"] == "/"


@pytest.mark.parametrize("cookie", ["", "x", "e30=", "bnVsbA==", "W10=", "\xff".encode("latin-1").hex() * 5000])
async def test_a_cookie_that_is_none_is_refused(browser: httpx.AsyncClient, identity: Identity, cookie: str) -> None:
    back = identity.authorize(await sent_away(browser))
    browser.cookies.clear()
    browser.cookies.set(AWAY, cookie, domain="plait.test", path="/")
    check_refused(await browser.get(back), browser)


async def test_who_says_no_there_is_not_let_in_here(browser: httpx.AsyncClient, identity: Identity) -> None:
    url = await sent_away(browser)
    check_refused(await browser.get(identity.authorize(url, user_says_yes=False)), browser)


async def test_who_tries_too_often_is_held_up(browser: httpx.AsyncClient, identity: Identity) -> None:
    back = _changed({"state": "x"})(identity.authorize(await sent_away(browser)))
    answers = [(await browser.get(back)).status_code for _ in range(30)]
    assert answers[0] == 401
    assert answers[-1] == 429


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/.well-known/openid-configuration", (500, b"")),
        ("/.well-known/openid-configuration", (302, b"http://127.0.0.1:1/")),
        ("/.well-known/openid-configuration", (200, b"<html>")),
        ("/.well-known/openid-configuration", (200, b"[" * 100_000)),
        ("/.well-known/openid-configuration", (200, b" " * 2_000_000)),
        ("/token", (503, b"")),
        ("/token", (302, b"http://127.0.0.1:1/")),
        ("/token", (200, b"{}")),
        ("/token", (200, b"\xff\xfe")),
        ("/keys", (404, b"")),
        ("/keys", (200, b'{"keys": 1}')),
    ],
)
async def test_a_provider_that_answers_nonsense_is_unreachable(
    browser: httpx.AsyncClient, identity: Identity, path: str, answer: tuple[int, bytes]
) -> None:
    identity.answers[path] = answer
    if path.startswith("/.well"):
        refused = await browser.get(f"{PREFIX}/session/oidc")
    else:
        refused = await sign_in(browser, identity)
    check_refused(refused, browser, 503)
    assert refused.headers["retry-after"]


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://other.example"},
        {"issuer": None},
        {"token_endpoint": "http://id.example/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": None},
    ],
)
async def test_a_configuration_of_another_issuer_or_without_tls_is_not_believed(
    browser: httpx.AsyncClient, identity: Identity, document: dict[str, Any]
) -> None:
    """A mix-up attack: the configuration document names another issuer."""
    identity.document = document
    check_refused(await browser.get(f"{PREFIX}/session/oidc"), browser, 503)
