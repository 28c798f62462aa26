"""A fake API server with configurable responses that records its requests, for failures that the real one can't be made to have."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


Drop = Literal["drop"]
Answering = Callable[[Asked], Answer | Drop]


class FakeServer:
    def __init__(self, answering: Answering) -> None:
        self.asked: list[Asked] = []
        self._heard = threading.Condition()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server._serve(self, answering)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def _serve(self, handler: BaseHTTPRequestHandler, answering: Answering) -> None:
        text = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        path = handler.path.removeprefix("/api/v1")
        asked = Asked(handler.command, path, dict(handler.headers.items()), json.loads(text) if text else None)
        with self._heard:
            self.asked.append(asked)
            self._heard.notify_all()
        answer = answering(asked)
        if answer == "drop":
            handler.close_connection = True
            return
        content = b"" if answer.body is None else json.dumps(answer.body).encode()
        handler.send_response(answer.status)
        for name, value in {"Content-Length": str(len(content)), **answer.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    def seen(self, end: str, nth: int = 1) -> Asked:
        """The nth request whose path ends so, once it is there."""

        def found() -> list[Asked]:
            return [one for one in list(self.asked) if one.path.endswith(end)]

        with self._heard:
            assert self._heard.wait_for(lambda: len(found()) >= nth, 180), f"no {end}: {self.paths()}"
        return found()[nth - 1]

    def paths(self) -> list[str]:
        return [f"{one.method} {one.path}" for one in list(self.asked)]


@contextmanager
def answering(how: Answering) -> Iterator[FakeServer]:
    server = FakeServer(how)
    thread = threading.Thread(target=server._http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server._http.shutdown()
        thread.join()
        server._http.server_close()


def problem(status: int, code: str, **headers: str) -> Answer:
    body = {
        "type": f"urn:plait:problem:{code}",
        "title": "No",
        "status": status,
        "detail": f"no: {code}",
        "request_id": "r1",
    }
    return Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def in_turn(*answers: Answer | Drop) -> Answering:
    left = list(answers)
    return lambda _: left.pop(0) if left else problem(500, "too-often")
