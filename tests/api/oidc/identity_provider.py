"""An OpenID Connect provider for tests: a real HTTP server that can be made to misbehave."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

CLIENT, SECRET = "plait test", "s3cret: %&"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
FOREIGN_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def public_pem() -> bytes:
    return RSA_KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


@dataclass
class Identity:
    """The behaviour of the provider, which tests change."""

    url: str = ""
    claims: dict[str, Any] = field(
        default_factory=lambda: {"sub": "u1", "email": "ann@acme.example", "groups": ["ops"]}
    )
    document: dict[str, Any] = field(default_factory=dict)
    """Overrides fields of the configuration document."""
    signed: Callable[[dict[str, Any]], str] | None = None
    """Replaces the function that creates the ID token."""
    keys: list[dict[str, Any]] | None = None
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Fixed responses by path: status and body."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize?tenant=x",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "end_session_endpoint": f"{self.url}/logout",
            **self.document,
        }

    def key_set(self) -> dict[str, Any]:
        if self.keys is not None:
            return {"keys": self.keys}
        rsa_key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA_KEY.public_key()))
        ec_key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(EC_KEY.public_key()))
        return {
            "keys": [
                {"kty": "what", "kid": "strange"},
                {**rsa_key, "kid": "enc", "use": "enc"},
                {**rsa_key, "kid": "r1", "use": "sig"},
                {**ec_key, "kid": "e1", "alg": "ES256"},
            ]
        }

    def token_claims(self, asked: dict[str, str]) -> dict[str, Any]:
        now = int(time.time())
        whole = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.claims}
        return {name: value for name, value in whole.items() if value is not None}

    def authorize(self, url: str, *, user_says_yes: bool = True) -> str:
        """Sign in as a browser does. Returns the URL that the browser is redirected to."""
        query = dict(parse_qsl(urlsplit(url).query))
        assert (query["client_id"], query["response_type"], query["code_challenge_method"]) == (CLIENT, "code", "S256")
        assert "openid" in query["scope"].split()
        if not user_says_yes:
            return f"{query['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': query['state']})}"
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state'], 'iss': self.url})}"

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        pair = base64.b64encode(b"plait%20test:s3cret%3A%20%25%26").decode()
        asked = self.codes.pop(form.get("code", ""), None)  # a code can be used once
        if asked is None or authorization != f"Basic {pair}" or form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        sign = self.signed or (lambda claims: jwt.encode(claims, RSA_KEY, "RS256", headers={"kid": "r1"}))
        return 200, {"id_token": sign(self.token_claims(asked)), "access_token": "x", "token_type": "Bearer"}


@contextmanager
def identity_provider() -> Iterator[Identity]:
    identity = Identity()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            identity.asked.append(path)
            if path in identity.answers:
                self._answer(*identity.answers[path])
            elif path == "/.well-known/openid-configuration":
                self._answer(200, json.dumps(identity.configuration()).encode())
            elif path == "/keys":
                self._answer(200, json.dumps(identity.key_set()).encode())
            else:
                self._answer(404, b"{}")

        def do_POST(self) -> None:
            path = urlsplit(self.path).path
            identity.asked.append(path)
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if path in identity.answers:
                self._answer(*identity.answers[path])
                return
            form = {name: values[0] for name, values in parse_qs(body).items()}
            status, answer = identity.exchange(form, self.headers.get("Authorization", ""))
            self._answer(status, json.dumps(answer).encode())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", body.decode())
                body = b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Don't log into the tests' output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    identity.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield identity
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
