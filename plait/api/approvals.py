"""Approval links: a page where a person confirms, and so sends the signal that a job waits for.

A visitor needs only the token in the URL, which is valid for one signal to one job. GET only shows the page, because mail programs, chats and virus scanners
open links automatically. POST uses the link, once. Afterwards the page shows when it was used.
"""

import html
from typing import Annotated, Any, Final

from fastapi import Path, Request, Response
from starlette.responses import HTMLResponse

from plait.api.authentication import Guard, new_router
from plait.model.tokens import hash_of
from plait.store import Store
from plait.store.approvals import LinkRow
from plait.store.audit import Entry

router = new_router("approvals")

Token = Annotated[
    str, Path(min_length=1, max_length=200, description="The token in the URL that `approval_url` returned.")
]

_HTML: Final[dict[str, Any]] = {"text/html": {"schema": {"type": "string"}}}
_PAGES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The confirmation page.", "content": _HTML},
    404: {"description": "Unknown link.", "content": _HTML},
    409: {"description": "The link was already used, or its job is final.", "content": _HTML},
    410: {"description": "The link has expired.", "content": _HTML},
}
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex",
}


@router.get("/approvals/{token}", response_class=HTMLResponse, responses=_PAGES)
async def show(request: Request, token: Token) -> Response:
    """Show the page of an approval link. Changes nothing."""
    return _page(await _found(request, token), used=False)


@router.post("/approvals/{token}", response_class=HTMLResponse, responses=_PAGES)
async def use(request: Request, token: Token) -> Response:
    """Use an approval link, which sends the signal to its job. A link can be used once."""
    link = await _found(request, token)
    if link is None or link.state != "open":
        return _page(link, used=False)
    store: Store = request.app.state.store
    entry = Entry(
        tenant_id=link.tenant_id,
        actor="approval link",
        action="approval.use",
        object=str(link.job_id),
        request_id=request.state.request_id,
    )
    before = await store.auditing(entry).approvals.follow_link(hash_of(token))
    return _page(link, used=True) if before == "open" else _page(await _found(request, token), used=False)


async def _found(request: Request, token: str) -> LinkRow | None:
    guard: Guard = request.app.state.guard
    store: Store = request.app.state.store
    guard.check_guesses(request)
    link = await store.approvals.find_link(hash_of(token))
    if link is None:
        guard.note_guess(request)
    return link


def _page(link: LinkRow | None, *, used: bool) -> Response:
    if link is None:
        return _answer(404, "Unknown link", "Check that the complete address was copied.")
    if used:
        return _answer(200, "Confirmed", f"{link.message}\n\nThank you. You can close this page.")
    match link.state:
        case "open":
            form = f'<form method="post"><button type="submit">{html.escape(link.button)}</button></form>'
            return _answer(200, "Please confirm", link.message, form)
        case "used":
            when = link.used_at.strftime("at %Y-%m-%d %H:%M UTC") if link.used_at is not None else "earlier"
            return _answer(409, "This link was already used", f"{link.message}\n\nIt was confirmed {when}.")
        case "expired":
            at = link.expires_at.strftime("%Y-%m-%d %H:%M UTC")
            return _answer(410, "This link has expired", f"{link.message}\n\nThe link could be used until {at}.")
        case "ended":
            return _answer(409, "Nothing to confirm", f"{link.message}\n\nThe job has ended.")


def _answer(status: int, title: str, text: str, form: str = "") -> Response:
    paragraphs = "".join(f"<p>{html.escape(part)}</p>" for part in text.split("\n\n"))
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title></head><body><main><h1>{html.escape(title)}</h1>{paragraphs}{form}</main></body></html>"
    )
    return HTMLResponse(page, status_code=status, headers=_HEADERS)
