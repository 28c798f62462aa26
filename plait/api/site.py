"""The web UI's files, as `scripts/ui.py` built them into `plait/api/static`: the one page, and what it loads.

They are the same for everybody and tell nothing of anybody's jobs, so they need no key; all that the page shows it asks the API for.
Names below `/assets` hold a hash of what is in them and never change. Every address that the UI may be opened at answers with the
one page; what is no address of the UI's is not there, whoever asks. No site may frame it, but for what is below `/embed`: a tenant's view
(embeds.py), where the settings name who may.
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
"""Nothing inline, nothing from elsewhere, and no text that becomes code or HTML: whatever a payload says (T130)."""


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
        """The one page, at whichever of its addresses."""
        if "index.html" not in self._files:
            raise Refused(503, "not-built", "this process has no web UI: it is built by `make ui`")
        return self._answer(request, self._files["index.html"])

    async def embedded(self, request: Request) -> Response:
        """The same, for a frame on a site that may have one."""
        answer = await self.page(request)
        answer.headers["Content-Security-Policy"] = self._embedded
        return answer

    async def file(self, request: Request) -> Response:
        """One of the files that the page loads."""
        if (found := self._files.get(request.url.path.removeprefix("/"))) is None:
            raise HTTPException(404, "there is no such file")
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
