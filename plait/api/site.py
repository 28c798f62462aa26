"""The web UI's files, built into `plait/api/static` by `scripts/ui.py`: one page, and the files that it loads.

The files contain no data, so they need no key; the page gets all data from the API. Names below `/assets` contain a hash of the content, so these
files never change. Every URL of the UI returns the same page. For an unknown URL, a browser gets the page with status 404, and the page shows its
not-found view. No site may frame the page, except below `/embed`: the configured sites may frame a tenant's embedded view (embeds.py).

The page contains its build: a hash of the page, which includes the names of its files. Every response has the build in the header `Plait-Build`. A page
that was opened before a deployment compares the builds and reloads itself (ui/src/api/build.ts), because files that it has not loaded yet may no longer exist.
"""

import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from plait.api.problems import Refused

BUILT: Final = Path(__file__).with_name("static")

PAGES: Final = (
    "login", "jobs", "workflows", "triggers", "events", "definitions", "queues", "workers", "dead-letters", "errors", "tenants", "audit", "keys",
)  # fmt: skip
"""The first part of each address in ui/src/router.tsx; a test compares them."""

NOBODY: Final = "frame-ancestors 'none'"
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        NOBODY,
        "require-trusted-types-for 'script'",
    )
)
"""Allows no inline code and nothing from other sites. The text of a payload cannot become code or HTML (T130)."""


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    media_type: str
    headers: dict[str, str]


BUILD: Final = b'<meta name="plait-build" content="'


class Site:
    def __init__(self, built: Path | None = None, embedding: Sequence[str] = ()) -> None:
        built = built or BUILT
        self._embedded = POLICY.replace(NOBODY, f"frame-ancestors {' '.join(embedding)}") if embedding else POLICY
        self._files = {path.relative_to(built).as_posix(): _read(path, built) for path in _below(built)}
        self.build = ""
        if (page := self._files.get("index.html")) is not None:
            self.build = sha256(page.content).hexdigest()[:16]
            self._files["index.html"] = _file(page.content.replace(BUILD, BUILD + self.build.encode()), "text/html")

    async def page(self, request: Request) -> Response:
        """The page, at any of its URLs."""
        if "index.html" not in self._files:
            raise Refused(503, "not-built", "the web UI is not built: run `make ui`")
        return self._answer(request, self._files["index.html"])

    async def embedded(self, request: Request) -> Response:
        """The page, for a frame on an allowed site."""
        answer = await self.page(request)
        answer.headers["Content-Security-Policy"] = self._embedded
        return answer

    async def file(self, request: Request) -> Response:
        """A file that the page loads."""
        if (found := self._files.get(request.url.path.removeprefix("/"))) is None:
            raise HTTPException(404, "file not found")
        return self._answer(request, found)

    async def nowhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Return the page to a browser at a URL that does not exist, and a problem to any other client."""
        request = Request(scope)
        page = self._files.get("index.html")
        browser = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
        if page is None or not browser or request.url.path.startswith(("/api/", "/assets/")):
            raise HTTPException(404)
        answer = Response(page.content, status_code=404, media_type=page.media_type, headers=page.headers)
        await answer(scope, receive, send)

    def _answer(self, request: Request, file: File) -> Response:
        if request.headers.get("if-none-match") == file.headers["ETag"]:
            return Response(status_code=304, headers=file.headers)
        return Response(file.content, media_type=file.media_type, headers=file.headers)


def register(app: FastAPI, embedding: Sequence[str] = ()) -> Site:
    site = Site(embedding=embedding)
    app.router.routes += [
        Route("/", site.page),
        *(Route(f"/{page}{rest}", site.page) for page in PAGES for rest in ("", "/{rest:path}")),
        *(Route(f"/embed{rest}", site.embedded) for rest in ("", "/{rest:path}")),
        *(Route(path, site.file) for path in ("/assets/{name}", "/theme.js", "/icon.svg")),
    ]
    app.router.default = site.nowhere
    return site


def _below(built: Path) -> list[Path]:
    return [path for path in built.rglob("*") if path.is_file() and not path.name.startswith(".")]


def _read(path: Path, built: Path) -> File:
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return _file(path.read_bytes(), media_type, hashed=path.parent != built)


def _file(content: bytes, media_type: str, *, hashed: bool = False) -> File:
    headers = {
        "ETag": f'"{sha256(content).hexdigest()[:32]}"',
        "Cache-Control": "public, max-age=31536000, immutable" if hashed else "no-cache",
        "Content-Security-Policy": POLICY,
    }
    return File(content, media_type, headers)
