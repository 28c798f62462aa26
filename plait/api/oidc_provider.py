"""The OpenID Connect provider that the operator has configured.

This is the only module of the API that makes outgoing requests. The operator chooses the issuer's address, so it may be internal: unlike a
connector's address, it is not checked against internal networks. Responses are limited in size and time, redirects are not followed, and endpoints
must use https (except on this machine). An ID token must be signed with one of the issuer's keys and an allowed algorithm. Symmetric algorithms
and `none` are never allowed.
"""

import asyncio
import base64
import hashlib
import hmac
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from urllib.parse import quote, urlencode

import httpx2
import jwt
import msgspec

from plait.model.errors import PlaitError
from plait.runtime.settings import Settings, is_safe

TIMEOUT_S: Final = 10.0
ANSWER: Final = 1_048_576
FRESH_S: Final = 600.0
"""How long the provider's document and keys are cached."""
RETRY_S: Final = 10.0
"""Minimum interval between fetches of the provider's keys. A token with an unknown key causes a fetch."""


class SignInFailed(PlaitError):
    """The response does not belong to the sign-in that was started, or its token is not valid."""


class ProviderUnreachable(PlaitError):
    """The identity provider does not respond, or does not follow OpenID Connect. Retry later, or sign in with an API key."""


class Endpoints(msgspec.Struct, kw_only=True, frozen=True):
    """The provider's configuration document."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str | None = None
    authorization_response_iss_parameter_supported: bool = False


class _Keys(msgspec.Struct):
    keys: list[dict[str, Any]]


class _Tokens(msgspec.Struct):
    id_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The values of one sign-in. The browser keeps them in a cookie and sends them with the callback."""

    state: str
    nonce: str
    verifier: str

    @property
    def challenge(self) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


class Provider:
    def __init__(self, settings: Settings) -> None:
        assert settings.oidc_issuer is not None
        self._settings = settings
        self._issuer = settings.oidc_issuer
        self._reading = asyncio.Lock()
        self._endpoints: Endpoints | None = None
        self._endpoints_until = 0.0
        self._keys: list[dict[str, Any]] = []
        self._keys_read = -RETRY_S

    async def sign_in_url(self, sent: Sent) -> str:
        """The URL where a browser signs in."""
        endpoint = (await self._document()).authorization_endpoint
        return _with(
            endpoint,
            response_type="code",
            client_id=self._settings.oidc_client_id,
            redirect_uri=self._settings.oidc_redirect_url,
            scope=self._settings.oidc_scope,
            state=sent.state,
            nonce=sent.nonce,
            code_challenge=sent.challenge,
            code_challenge_method="S256",
        )

    async def sign_out_url(self) -> str | None:
        """The URL that ends the session at the provider; None if it has no such URL or is not available."""
        try:
            endpoint = (await self._document()).end_session_endpoint
        except ProviderUnreachable:
            return None
        return None if endpoint is None else _with(endpoint, client_id=self._settings.oidc_client_id)

    async def claims(self, sent: Sent, *, code: str, issuer: str | None) -> dict[str, Any]:
        """The verified claims of the person who has signed in. `issuer`: the parameter `iss` of the callback (RFC 9207)."""
        document = await self._document()
        if issuer is None and document.authorization_response_iss_parameter_supported:
            raise SignInFailed("the response does not name its issuer")
        if issuer is not None and issuer != self._issuer:
            raise SignInFailed("the response is from another issuer")
        return await self._proved(await self._exchange(document, code, sent), sent)

    async def _exchange(self, document: Endpoints, code: str, sent: Sent) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._settings.oidc_redirect_url,
            "client_id": self._settings.oidc_client_id,
            "code_verifier": sent.verifier,
        }
        headers = {}
        if self._settings.oidc_client_secret is not None:
            secret = self._settings.oidc_client_secret.get_secret_value()
            pair = f"{quote(self._settings.oidc_client_id or '', safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        status, body = await _ask("POST", document.token_endpoint, data=form, headers=headers)
        if 400 <= status < 500:
            raise SignInFailed("the provider rejected the authorization code")
        if status != 200:
            raise ProviderUnreachable(f"the provider's token endpoint returned status {status}")
        tokens: _Tokens = _decoded(body, _Tokens)
        return tokens.id_token

    async def _proved(self, token: str, sent: Sent) -> dict[str, Any]:
        allowed = self._settings.oidc_algorithms
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in allowed:
                raise SignInFailed("the token's signature algorithm is not allowed")
            claims: dict[str, Any] = jwt.decode(
                token,
                await self._key(header.get("kid"), header["alg"]),
                algorithms=[header["alg"]],
                audience=self._settings.oidc_client_id,
                issuer=self._issuer,
                leeway=self._settings.oidc_skew,
                options={"require": ["iss", "aud", "sub", "exp", "iat"]},
            )
        except jwt.PyJWTError as error:
            raise SignInFailed(f"the token is not valid: {error}") from None
        audience = claims["aud"]
        party = claims.get("azp")
        if (isinstance(audience, list) and len(audience) > 1 and party is None) or (
            party is not None and party != self._settings.oidc_client_id
        ):
            raise SignInFailed("the token was issued for another application")
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), sent.nonce.encode()):
            raise SignInFailed("the token was issued for another sign-in")
        return claims

    async def _key(self, kid: str | None, algorithm: str) -> jwt.PyJWK:
        """The provider's key with this id and algorithm. Fetches the keys again if it is not cached."""
        for _ in range(2):
            for one in self._keys if time.monotonic() - self._keys_read < FRESH_S else ():
                if (kid is None or one.get("kid") == kid) and (key := _key_of(one, algorithm)) is not None:
                    return key
            await self._read_keys()
        raise SignInFailed("the token is signed with a key that is not the provider's")

    async def _read_keys(self) -> None:
        async with self._reading:
            if time.monotonic() - self._keys_read < RETRY_S:
                return
            status, body = await _ask("GET", (await self._read_document()).jwks_uri)
            if status != 200:
                raise ProviderUnreachable(f"the provider's key set URL returned status {status}")
            self._keys = _decoded(body, _Keys).keys[:100]
            self._keys_read = time.monotonic()

    async def _document(self) -> Endpoints:
        async with self._reading:
            return await self._read_document()

    async def _read_document(self) -> Endpoints:
        if self._endpoints is None or time.monotonic() > self._endpoints_until:
            status, body = await _ask("GET", self._issuer.rstrip("/") + "/.well-known/openid-configuration")
            if status != 200:
                raise ProviderUnreachable(f"the provider's configuration URL returned status {status}")
            found = _decoded(body, Endpoints)
            if found.issuer != self._issuer:
                raise ProviderUnreachable("the provider's configuration names another issuer")
            for url in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri, found.end_session_endpoint):
                if url is not None and not is_safe(url):
                    raise ProviderUnreachable("the provider has an endpoint without TLS")
            self._endpoints, self._endpoints_until = found, time.monotonic() + FRESH_S
        return self._endpoints


def new_provider(settings: Settings) -> Provider | None:
    """None if no provider is configured."""
    return None if settings.oidc_issuer is None else Provider(settings)


def _key_of(described: Mapping[str, Any], algorithm: str) -> jwt.PyJWK | None:
    """A key for this algorithm, or None. A key without an algorithm is used if its type fits."""
    if (
        described.get("use", "sig") != "sig"
        or described.get("kty") == "oct"
        or described.get("alg", algorithm) != algorithm
    ):
        return None
    try:
        return jwt.PyJWK(dict(described), algorithm)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None


def _with(endpoint: str, **parameters: str | None) -> str:
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode({k: v for k, v in parameters.items() if v is not None})}"


def _decoded(body: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ProviderUnreachable("the provider's response does not follow OpenID Connect") from None


async def _ask(
    method: str, url: str, *, data: Mapping[str, str | None] | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Send one request without a proxy or redirects, with a limited response size and total time."""
    body = bytearray()
    given = {**(headers or {}), "Accept": "application/json", "Accept-Encoding": "identity"}
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx2.AsyncClient(verify=_trusted(), trust_env=False, timeout=TIMEOUT_S) as client,
            client.stream(method, url, data=dict(data) if data else None, headers=given) as answer,
        ):
            async for part in answer.aiter_raw():
                body += part
                if len(body) > ANSWER:
                    raise ProviderUnreachable("the provider's response is too large")
            return answer.status_code, bytes(body)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        raise ProviderUnreachable(
            f"the identity provider is not reachable: {str(error) or type(error).__name__}"
        ) from None


@cache
def _trusted() -> ssl.SSLContext:
    """The machine's trusted certificates, read once."""
    return ssl.create_default_context()
