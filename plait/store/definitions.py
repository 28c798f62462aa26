"""Definitions: the kinds of job that are known, and their settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from plait.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionRow:
    name: str
    kind: str
    active: bool
    queue: str
    priority: int
    max_attempts: int
    timeout_s: float
    max_running: int | None
    rate_count: int | None
    rate_period_s: float | None
    key_max_running: int | None
    key_rate_count: int | None
    key_rate_period_s: float | None
    schema: str | None
    description: str
    search_keys: list[str] | None
    updated_at: datetime


class Definitions:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def define(self, definitions: Sequence[Mapping[str, Any]], *, new: bool = False) -> int:
        """Make definitions known; returns how many were new or changed. `new`: an error where there is one already."""
        text = msgspec.json.encode(list(definitions)).decode()
        return int(await self._db.fetchval("select plait.define($1::json, $2)", text, new))

    async def define_unknown(self, key_id: UUID, names: Sequence[str]) -> int:
        """Make known, with defaults, those that nobody has defined; `QuotaExceeded` when the key has created too many."""
        return int(await self._db.fetchval("select plait.define_unknown($1, $2)", key_id, list(names)))

    async def set_definition(
        self, name: str, settings: Mapping[str, Any], *, unchanged_since: datetime | None = None
    ) -> None:
        text = msgspec.json.encode(dict(settings)).decode()
        await self._db.fetchval("select plait.set_definition($1, $2::json, $3)", name, text, unchanged_since)

    async def list_definitions(self) -> list[DefinitionRow]:
        rows = await self._db.fetch("select * from plait.list_definitions()")
        return [DefinitionRow(**{name: row[name] for name in DefinitionRow.__slots__}) for row in rows]

    async def list_schemas(self, names: Sequence[str]) -> dict[str, str]:
        """The JSON Schemas of those that have one, by name."""
        rows = await self._db.fetch("select * from plait.list_schemas($1)", list(names))
        return {row["name"]: row["schema"] for row in rows}
