"""Functions whose annotations are text, as `from __future__ import annotations` makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nowhere import Nowhere  # type: ignore[import-not-found]


def postponed(later: Later) -> Later | None: ...


def unknown_name(x: Nowhere) -> None: ...


@dataclass
class Later:
    name: str
    inner: list[Later]
