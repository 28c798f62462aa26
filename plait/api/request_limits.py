"""Middleware for every request: adds a request id and security headers, and rejects a body that is too large (413)."""

import re
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plait.api.problems import problem
from plait.model.ids import new_id

_REQUEST_ID: Final = re.compile(r"[\w.:-]{1,100}")
_HEADERS: Final = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
_UNLESS_SAID: Final = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
]


class RequestLimits:
    def __init__(self, app: ASGIApp, *, body: int, build: str) -> None:
        """`build`: the build of the web UI (site.py)."""
        self._app = app
        self._body = body
        self._headers = [*_HEADERS, *([(b"plait-build", build.encode())] if build else [])]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        request_id = self._name(request)
        too_large = f"a request must have at most {self._body:,} bytes"
        read = 0

        async def bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._body:
                raise HTTPException(413, too_large)
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.setdefault("headers", [])
                headers += [(b"x-request-id", request_id.encode()), *self._headers]
                said = {name for name, _ in headers}
                headers += [(name, value) for name, value in _UNLESS_SAID if name not in said]
            await send(message)

        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > self._body:
            await problem(request, HTTPException(413, too_large))(scope, receive, sending)
            return
        await self._app(scope, bounded, sending)

    def _name(self, request: Request) -> str:
        """The caller's request id if it consists of plain characters (a line break would corrupt the log), otherwise a new id."""
        given = request.headers.get("x-request-id", "")
        request.state.request_id = name = given if _REQUEST_ID.fullmatch(given) else str(new_id())
        return name
