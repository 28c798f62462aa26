"""Open a connection on which neither side waits forever for a dead peer.

The client has a timeout for each statement. The kernels on both sides detect a dead peer: by keepalive while the connection is idle, and by
TCP_USER_TIMEOUT while sent bytes are not acknowledged. While it executes a statement, the server checks whether the client is still
connected.
"""

import socket
from typing import Any, Final

import asyncpg

CONNECT_S: Final = 10.0
"""Timeout for connecting and authentication."""
_IDLE_S, _INTERVAL_S, _COUNT, _UNACKNOWLEDGED_MS = 10, 5, 3, 25_000

_SESSION: Final = {
    # plait's functions require this, regardless of the default of the login or database.
    "default_transaction_isolation": "read committed",
    "tcp_keepalives_idle": str(_IDLE_S),
    "tcp_keepalives_interval": str(_INTERVAL_S),
    "tcp_keepalives_count": str(_COUNT),
    "tcp_user_timeout": str(_UNACKNOWLEDGED_MS),
    "client_connection_check_interval": "5000",
}
_UNSUPPORTED: Final = (
    asyncpg.ProtocolViolationError,  # PgBouncer: unsupported startup parameter
    asyncpg.FeatureNotSupportedError,
    asyncpg.InvalidParameterValueError,
    asyncpg.UndefinedObjectError,
)
"""Errors from a pooler or platform that does not support one of these settings."""


async def open_connection(
    url: str,
    *,
    statement_s: float | None,
    within: float = CONNECT_S,
    prepare: bool = True,
    session_settings: bool = True,
) -> tuple[asyncpg.Connection, bool]:
    """Open a connection whose statements must be answered within `statement_s`. Also returns whether the session settings were accepted."""
    options: dict[str, Any] = {"timeout": within, "command_timeout": statement_s}
    if not prepare:
        options["statement_cache_size"] = 0
    try:
        connection = await asyncpg.connect(url, server_settings=_SESSION if session_settings else None, **options)
    except _UNSUPPORTED:
        if not session_settings:
            raise
        session_settings = False
        connection = await asyncpg.connect(url, **options)
    _notice_a_dead_peer(connection)
    return connection, session_settings


def _notice_a_dead_peer(connection: asyncpg.Connection) -> None:
    ours = connection._transport.get_extra_info("socket")  # noqa: SLF001 - asyncpg has no public API for it
    if ours is None or ours.family not in (socket.AF_INET, socket.AF_INET6):
        return
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _IDLE_S),
        ("TCP_KEEPINTVL", _INTERVAL_S),
        ("TCP_KEEPCNT", _COUNT),
        ("TCP_USER_TIMEOUT", _UNACKNOWLEDGED_MS),
    ):
        if (option := getattr(socket, name, None)) is not None:  # not available on every system
            ours.setsockopt(socket.IPPROTO_TCP, option, value)
