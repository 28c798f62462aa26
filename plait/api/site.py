"""The web UI's files, built into `plait/api/static` by `scripts/ui.py`: one page, and the files that it loads.

They are the same for everyone and contain no data, so they need no key; the page gets all data from the API. Names below `/assets` contain a
hash of their content and never change. Every URL of the UI returns the one page; other URLs are not found. No site may frame the page, except
below `/embed`: a tenant's embedded view (embeds.py), for the configured sites.
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

from plait.api.problems import Refused

BUILT: Final = Path(__file__).with_name("static")

PAGES: Final = (
    "login", "jobs", "workflows", "triggers", "events", "definitions", "queues", "workers", "dead-letters", "tenants", "audit", "keys",
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


class Site:
    def __init__(self, built: Path = BUILT, embedding: Sequence[str] = ()) -> None:
        self._embedded = POLICY.replace(NOBODY, f"frame-ancestors {' '.join(embedding)}") if embedding else POLICY
        self._files = {path.relative_to(built).as_posix(): _read(path, built) for path in _below(built)}

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
        """One of the files that the page loads."""
        if (found := self._files.get(request.url.path.removeprefix("/"))) is None:
            raise HTTPException(404, "file not found")
        return self._answer(request, found)

    def _answer(self, request: Request, file: File) -> Response:
        if request.headers.get("if-none-match") == file.headers["ETag"]:
            return Response(status_code=304, headers=file.headers)
        return Response(file.content, media_type=file.media_type, headers=file.headers)


def register(app: FastAPI, embedding: Sequence[str] = ()) -> None:
    site = Site(embedding=embedding)
    app.router.routes += [
        Route("/", site.page),
        *(Route(f"/{page}{rest}", site.page) for page in PAGES for rest in ("", "/{rest:path}")),
        *(Route(f"/embed{rest}", site.embedded) for rest in ("", "/{rest:path}")),
        *(Route(path, site.file) for path in ("/assets/{name}", "/theme.js", "/icon.svg")),
    ]


def _below(built: Path) -> list[Path]:
    return [path for path in built.rglob("*") if path.is_file() and not path.name.startswith(".")]


def _read(path: Path, built: Path) -> File:
    content = path.read_bytes()
    hashed = path.parent != built
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {
        "ETag": f'"{sha256(content).hexdigest()[:32]}"',
        "Cache-Control": "public, max-age=31536000, immutable" if hashed else "no-cache",
        "Content-Security-Policy": POLICY,
    }
    return File(content, media_type, headers)
