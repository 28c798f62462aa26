"""An address to listen on, and a server that leaves signal handling to the process."""

import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from plait.model.errors import PlaitError


class AddressTaken(PlaitError):
    """Another process listens on this address. Choose another port: --port, PLAIT_API_PORT; --metrics-port, PLAIT_METRICS_PORT."""


def bound(host: str, port: int) -> socket.socket:
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        taken = socket.socket(family, kind, protocol)
        try:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(address)
            taken.listen(2048)
        except BaseException:
            taken.close()
            raise
    except OSError as error:
        raise AddressTaken(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return taken


def url_of(taken: socket.socket) -> str:
    host, port = taken.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: the process handles signals, since it may run other services."""
        yield
