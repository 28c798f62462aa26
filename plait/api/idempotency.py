"""Idempotency-Key: a repeated change gets the first response again, for a day. Requests that only read store nothing.

On `POST /jobs`, the header is the job's idempotency key (table plait.idempotency), which is kept for longer. For other routes the response is
stored. A 5xx response is not stored, because it is unknown whether the change was made: the request can be retried.
"""

import hashlib
from collections.abc import Callable, Coroutine
from typing import Any, Final
from uuid import UUID

from fastapi import Request, Response

from plait.api.access import PREFIX
from plait.api.caller import Caller
from plait.api.problems import Refused, problem
from plait.model.errors import PlaitError
from plait.model.roles import Role
from plait.store import Store

HEADER: Final = "Idempotency-Key"
NOBODY: Final = UUID(int=0)
_OWN_WAY: Final = frozenset({f"{PREFIX}/jobs", f"{PREFIX}/keys", f"{PREFIX}/embeds"})
"""Routes that handle the key themselves, and routes whose responses are not stored because they contain a secret."""
_READS: Final = frozenset({f"{PREFIX}/jobs/triggers/preview", f"{PREFIX}/jobs/triggers/render"})
"""Routes that change nothing, and use POST only because their requests can be large."""
_WORKERS: Final = f"{PREFIX}/worker/"
"""Requests of workers are fenced by (job, attempt), so repeating them is safe without a key."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


async def replayed(request: Request, caller: Caller, handler: Handler, *, least: Role) -> Response:
    """Handle the request, unless its key was used before. Requests that viewers may send change nothing and are not stored."""
    key = request.headers.get(HEADER)
    path = request.url.path
    reads = request.method == "GET" or least is Role.VIEWER or path in _READS
    if key is None or reads or path in _OWN_WAY or path.startswith(_WORKERS):
        return await handler(request)
    store: Store = request.app.state.store
    whose = (caller.tenant_id or NOBODY, caller.key_id, key)
    asked = f"{request.method} {path}?{request.url.query}\n".encode() + await request.body()
    reply = await store.http_replies.reserve(*whose, hashlib.sha256(asked).hexdigest())
    if not reply.begun:
        if reply.status is None:
            raise Refused(
                409,
                "under-way",
                "the first request with this key is still being processed",
                headers={"Retry-After": "1"},
            )
        kind = "application/json" if reply.status < 400 else "application/problem+json"
        return Response(reply.body, reply.status, headers={"Idempotent-Replayed": "true"}, media_type=kind)
    try:
        response = await handler(request)
    except Exception as error:  # noqa: BLE001 - an error is a response too
        response = problem(request, error)
    if response.status_code >= 500 or not isinstance(getattr(response, "body", None), bytes):
        await _forget(store, whose)
    else:
        await store.http_replies.keep(*whose, response.status_code, bytes(response.body).decode())
    return response


async def _forget(store: Store, whose: tuple[UUID, UUID, str]) -> None:
    try:
        await store.http_replies.keep(*whose, None, None)
    except PlaitError:
        return  # the request can be repeated after a minute
