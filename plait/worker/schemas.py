"""The JSON Schemas that operators set for definitions. SQL cannot validate a payload, so payloads that were enqueued in SQL are validated here,
before the handler starts. A command's payload is validated against the command's own schema by its codec. Definitions without a schema cost nothing."""

import asyncio
from collections.abc import Mapping
from typing import Final

import asyncpg
import msgspec

from plait.model.errors import InvalidSchema, PlaitError
from plait.model.schemas import faults
from plait.runtime.outage import Retry
from plait.sdk.definition import Definition
from plait.store import Store
from plait.store.workers import Claimed

EVERY_S: Final = 30.0
"""A worker uses a new schema after at most this time."""


class Schemas:
    def __init__(self, definitions: Mapping[str, Definition]) -> None:
        self._definitions = definitions
        self._known: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._known)

    async def learn(self, store: Store) -> None:
        found = await store.definitions.list_schemas(list(self._definitions))
        self._known = {name: text for name, text in found.items() if not self._in_code(name, text)}

    async def keep(self, store: Store) -> None:
        """Reload the schemas every `EVERY_S` seconds."""
        retry = Retry("schemas", store.database.outage, failing="schemas not reloaded, using the previous schemas")
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self.learn(store)
                retry.succeeded()
            except (PlaitError, asyncpg.PostgresError, ValueError) as error:
                retry.failed(error)

    def unfit(self, claimed: Claimed) -> str | None:
        """The reason why a job's payload does not fit its schema; None if it fits."""
        return self.fault(claimed.definition, claimed.payload)

    def fault(self, definition: str, payload: str) -> str | None:
        """The error of a payload; None if it fits, or if there is no schema."""
        if definition not in self._known:
            return None
        try:
            wrong = faults(self._known[definition], msgspec.json.decode(payload))
        except (InvalidSchema, ValueError, RecursionError) as error:
            wrong = str(error)
        return wrong and f"the payload does not fit the schema: {wrong}"

    def _in_code(self, name: str, text: str) -> bool:
        command = self._definitions[name].command
        return command is not None and msgspec.json.decode(text) == msgspec.json.decode(
            msgspec.json.encode(command.schema)
        )
