"""Responses. A pydantic model defines a response's fields, for the OpenAPI document. The values come from the store's rows and are
encoded by msgspec. JSON from the database (payloads, results) is sent as it is stored, without decoding, so a number of 5,000 digits or
5,000 levels of nesting cost nothing extra (T101). For viewers and operators, secrets are redacted (plait.api.redaction).
"""

from typing import Annotated, Any, ClassVar, Final, Generic, TypeVar
from uuid import UUID

import msgspec
from fastapi import Query, Response
from pydantic import BaseModel, Field

from plait.api.redaction import redaction

Model = TypeVar("Model", bound="Shape")
Item = TypeVar("Item")

_encoder: Final = msgspec.json.Encoder()
TEXTS: Final = frozenset(
    {
        "last_error",
        "error",
        "error_text",
        "traceback",
        "message",
        "logger",
        "reason",
        "disabled_reason",
        "url",
        "correlation_id",
        "dedupe_key",
    }
)
"""Fields with free text. Secrets in them are recognised by their form and redacted."""


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return _encoder.encode(content)


class Shape(BaseModel):
    """The shape of a response. `RAW`: fields that are JSON text in the row; `FROM`: fields with another name in the row; `OPEN`: fields without job
    data, which are never redacted."""

    RAW: ClassVar[frozenset[str]] = frozenset()
    FROM: ClassVar[dict[str, str]] = {}
    OPEN: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def of(cls, row: Any, *, about: str | None = None, **more: Any) -> dict[str, Any]:
        """Convert a row to this shape. `more`: values that the row does not have. `about`: the definition of the job, if the row does
        not have it."""
        made: dict[str, Any] = {}
        hiding = redaction()
        for name in cls.model_fields:
            if name in more:
                made[name] = more[name]
                continue
            value = getattr(row, cls.FROM.get(name, name))
            if hiding is not None and isinstance(value, str) and name not in cls.OPEN:
                if name in cls.RAW:
                    value = hiding.json(value, about or getattr(row, "definition", None))
                elif name in TEXTS:
                    value = hiding.text(value)
            made[name] = raw(value) if name in cls.RAW else value
        return made


class Page(BaseModel, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    next: str | None = Field(None, description="The value of `cursor` for the next page; null on the last page.")


def raw(text: str | None) -> msgspec.Raw | None:
    return None if text is None else msgspec.Raw(text.encode(errors="surrogatepass"))


def page(items: list[dict[str, Any]], limit: int, last: Any) -> dict[str, Any]:
    """Build a page. If it is full, the next page begins after `last`."""
    return {"items": items, "next": str(last) if len(items) >= limit and last is not None else None}


Limit = Annotated[int, Query(ge=1, le=1000, description="Maximum number of items.")]
Cursor = Annotated[UUID | None, Query(description="The value of `next` from the previous page.")]
Text = Annotated[str | None, Field(max_length=500)]
TenantName = Annotated[
    str | None, Query(max_length=100, description="A tenant's slug or id, for super-admins. Default: all tenants.")
]
