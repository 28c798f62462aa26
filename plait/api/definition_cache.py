"""A cache of the job definitions, at most 2 seconds old, for validating payloads before jobs are enqueued."""

import contextlib
import time
from typing import Any, Final

from plait.api.problems import Refused
from plait.api.redaction import Redaction
from plait.model.errors import InvalidArguments, InvalidSchema
from plait.model.redaction import fields
from plait.model.schemas import faults, list_faults
from plait.store import Store
from plait.store.definitions import DefinitionRow

FRESH_S: Final = 2.0
RESERVED: Final = "plait."
"""Prefix of the API's own job definitions, which callers cannot enqueue."""


class DefinitionCache:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._definitions: dict[str, DefinitionRow] = {}
        self._redaction = Redaction({})
        self._until = 0.0

    async def definition(self, name: str) -> DefinitionRow | None:
        """Return a definition. If it is not cached, read the definitions again."""
        if time.monotonic() > self._until or name not in self._definitions:
            await self._look()
        return self._definitions.get(name)

    async def redaction(self) -> Redaction:
        """The redaction for viewers and operators."""
        if time.monotonic() > self._until:
            await self._look()
        return self._redaction

    async def _look(self) -> None:
        rows = await self._store.definitions.list_definitions()
        self._definitions = {row.name: row for row in rows}
        self._redaction = Redaction({row.name: fields(row.sensitive) for row in rows if row.sensitive})
        self._until = time.monotonic() + FRESH_S

    async def check(self, name: str, payload: dict[str, Any]) -> DefinitionRow:
        """Reject an unknown definition, and a payload that does not fit its schema."""
        definition = await self.definition(name)
        if definition is None or name.startswith(RESERVED):
            raise InvalidArguments(
                f"there is no job definition {name!r}: a worker or a super-admin must register it first"
            )
        if _wrong(definition.schema, payload) is not None:  # the cached schema may be outdated
            schema = await self.schema(name)
            wrong = _wrong(schema, payload)
            if schema is not None and wrong is not None:
                raise _refusal(name, schema, payload, wrong)
            self.forget()
        return definition

    async def schema(self, name: str) -> str | None:
        """Read the current schema of a definition, so that no payload is rejected because of an outdated schema."""
        return (await self._store.definitions.list_schemas([name])).get(name)

    def forget(self) -> None:
        self._until = 0.0


def _wrong(schema: str | None, payload: dict[str, Any]) -> str | None:
    try:
        return None if schema is None else faults(schema, payload)
    except (ValueError, TypeError, RecursionError) as error:
        # JSON text may contain a lone surrogate, which is not valid Unicode.
        return str(error)


def _refusal(name: str, schema: str, payload: dict[str, Any], wrong: str) -> Refused:
    fields: list[tuple[str, str]] = []
    with contextlib.suppress(ValueError, TypeError, RecursionError, InvalidSchema):  # `wrong` has the reason
        fields = [(one.pointer("payload"), one.message) for one in list_faults(schema, payload)]
    return Refused(422, "invalid-arguments", f"the payload does not fit the schema of {name}: {wrong}", fields=fields)
