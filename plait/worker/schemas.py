"""The JSON Schemas that operators or `schema=…` set for definitions. SQL cannot validate a payload, so payloads that were enqueued in SQL are validated
here, before the handler starts. The codec of a command, and the codec of a function whose schema is derived from its annotations, validate by
themselves, so these definitions cost nothing here. A schema that a newer version of the code has registered does not apply to this worker's jobs."""

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
        coded = {
            name: msgspec.json.encode(one.schema).decode()
            for name, one in self._definitions.items()
            if one.schema is not None and one.command is None
        }
        self._known = {**coded, **await store.definitions.list_schemas(list(self._definitions), overridden=True)}

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
