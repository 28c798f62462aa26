"""Sweep: delete artifacts whose job was deleted or never stored."""

from uuid import UUID

from plait.runtime.object_storage import Objects
from plait.sdk.artifacts import name_of
from plait.store import Store

BATCH = 100
BETWEEN_ROUNDS_S = 60.0


class Sweep:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._removed: list[UUID] = []

    async def run(self, store: Store) -> float:
        doomed = await store.artifacts.sweep_artifacts(self._removed, BATCH)
        self._removed = []
        for artifact, tenant_id in doomed:
            await self._objects.delete(name_of(artifact, tenant_id))
            self._removed.append(artifact)
        return 0.0 if doomed else BETWEEN_ROUNDS_S
