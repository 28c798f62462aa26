"""HTTP requests over persistent connections, with retries where they are safe.

Changes are safe to retry because they carry an Idempotency-Key, an id, or (worker, attempt). A claim has none of these and is sent once.
"""

import contextlib
import dataclasses
import json
import random
import re
import select
import socket
import ssl
import threading
import time
import uuid
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from plait_client.errors import Refused, TimedOut, TooMany, Unreachable, refusal
from plait_client.settings import Settings
from plait_client.types import Route

PREFIX: Final = "/api/v1"
LONGEST_PAUSE: Final = 30.0
IDLE: Final = 4.0
"""Seconds after which an idle connection is not reused, because servers close idle connections."""
_NOT_REPLAYED: Final = re.compile(r"/(jobs|worker/.*)")
"""Routes without a generated Idempotency-Key. On `/jobs` the header sets the job's idempotency key, and the job's id makes a retry safe.
Requests of workers are fenced by the attempt."""


class Transport:
    """Thread-safe."""

    def __init__(self, settings: Settings, *, follows: bool = True) -> None:
        self._settings = settings
        self._follows = follows
        self._at = urlsplit(settings.url.rstrip("/"))
        self._tls = ssl.create_default_context() if self._at.scheme == "https" else None
        self._lock = threading.Lock()
        self._idle: list[tuple[float, HTTPConnection]] = []
        self._busy: set[HTTPConnection] = set()
        self._closed = threading.Event()

    def call(
        self,
        route: Route,
        *,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Any:
        """Call a route and return its decoded response."""
        method, _, template = route.partition(" ")
        target = self._at.path + PREFIX + _filled(template, path or {}) + _queried(query or {})
        sent = {"Authorization": f"Bearer {self._settings.key}", "Accept": "application/json"}
        if body is not None:
            sent["Content-Type"] = "application/json"
        if method != "GET" and not _NOT_REPLAYED.fullmatch(template):
            sent["Idempotency-Key"] = str(uuid.uuid4())
        sent.update(headers or {})
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        tried = 0
        while True:
            try:
                return self._send(method, target, content, sent, timeout or self._settings.timeout)
            except (Refused, Unreachable, TimedOut) as error:
                if (leader := self.leader_of(error)) is not None:
                    with contextlib.closing(leader):
                        return leader.call(
                            route, path=path, query=query, body=body, headers=sent, timeout=timeout, retries=retries
                        )
                if tried >= (self._settings.retries if retries is None else retries) or not passing(error):
                    raise
                if self._closed.wait(pause(error, tried)):
                    raise
                tried += 1

    def close(self) -> None:
        """Abort running requests and retries. In a thread that waits for a response, `call` raises Unreachable."""
        self._closed.set()
        with self._lock:
            busy, idle = list(self._busy), [connection for _, connection in self._idle]
            self._idle.clear()
        for connection in busy:
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
        for connection in idle:
            connection.close()

    def leader_of(self, error: Exception) -> "Transport | None":
        """A transport to the leader, if a follower redirects a node job there. The operator configures the leader's URL. Never redirects
        from https to http, and never more than once."""
        if self._follows and isinstance(error, Refused) and error.status == 421 and error.problem:
            url = error.problem.get("leader_url")
            if url and urlsplit(url).scheme in ("https", self._at.scheme):
                return Transport(dataclasses.replace(self._settings, url=url), follows=False)
        return None

    def _send(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str], timeout: float) -> Any:
        connection = self._connection(timeout)
        kept = False
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, target, content, dict(headers))
            # The server rejects a request that is too large before it has read all of it. Sending fails, but the response can be read.
            answer = connection.getresponse()
            body = answer.read()
            kept = not answer.will_close
        except TimeoutError as error:
            raise TimedOut(f"{method} {target.partition('?')[0]} timed out after {timeout:g} s") from error
        except (OSError, HTTPException) as error:
            raise Unreachable(f"server unreachable: {str(error) or type(error).__name__}") from error
        finally:
            self._release(connection, kept=kept)
        # Redirects are not followed: they could send the API key to another host.
        if answer.status >= 300:
            raise refusal(answer.status, body, _seconds(answer))
        try:
            return json.loads(body) if body else None
        except ValueError as error:
            raise Unreachable(f"{method} {target.partition('?')[0]} returned a response that is not JSON") from error

    def _connection(self, timeout: float) -> HTTPConnection:
        with self._lock:
            if self._closed.is_set():
                raise Unreachable("this client is closed")
            found = None
            while self._idle and found is None:
                since, connection = self._idle.pop()
                if time.monotonic() - since < IDLE and _is_open(connection):
                    found = connection
                else:
                    connection.close()
            if found is None:
                host = self._at.hostname or ""
                if self._tls is None:
                    found = HTTPConnection(host, self._at.port, timeout=timeout)
                else:
                    found = HTTPSConnection(host, self._at.port, timeout=timeout, context=self._tls)
            self._busy.add(found)
        found.timeout = timeout
        if found.sock is not None:
            found.sock.settimeout(timeout)
        return found

    def _release(self, connection: HTTPConnection, *, kept: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            if kept and not self._closed.is_set():
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()


def passing(error: Exception) -> bool:
    """Whether the error is temporary and the request may be retried."""
    if isinstance(error, Refused):
        return isinstance(error, TooMany) or error.status in (502, 503, 504) or error.code == "under-way"
    return isinstance(error, Unreachable | TimedOut)


def pause(error: Exception, tried: int) -> float:
    """Seconds before the next retry: the server's Retry-After, or exponential backoff with jitter."""
    said = error.retry_after if isinstance(error, Refused) else None
    backoff = 0.2 * 2 ** min(tried, 6) * random.uniform(0.8, 1.2)
    return min(backoff if said is None else said, LONGEST_PAUSE)


def _is_open(connection: HTTPConnection) -> bool:
    """Whether the server has kept an idle connection open. A closed connection is readable."""
    return connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]


def _filled(template: str, path: Mapping[str, str]) -> str:
    def value(name: re.Match[str]) -> str:
        given = str(path.get(name[1], ""))
        if given in ("", ".", ".."):
            raise ValueError(f"{template}: path parameter {name[1]} must not be empty, '.' or '..', got {given!r}")
        return quote(given, safe="")

    return re.sub(r"\{(\w+)\}", value, template)


def _queried(query: Mapping[str, Any]) -> str:
    pairs = [
        (name, str(one).lower() if isinstance(one, bool) else str(one))
        for name, value in query.items()
        for one in (value if isinstance(value, list | tuple) else [value])
        if one is not None
    ]
    return f"?{urlencode(pairs)}" if pairs else ""


def _seconds(answer: HTTPResponse) -> float | None:
    text = answer.headers.get("Retry-After")
    if text is None:
        return None
    try:
        return float(text) if text.isdigit() else max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None
