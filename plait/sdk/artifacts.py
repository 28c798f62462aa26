"""Artifacts: payloads, results, step results and signals that are too large for a row. They are stored in an artifact store, and the row has a reference:

    {"$artifact":{"sha256":"…","size":5242880}}

This is a reference only if the database has an artifact with that hash for that job, so nobody can read another job's data by writing a
reference. Any other JSON of this form is the user's own and is left unchanged. The same content has the same reference, which
idempotency keys depend on. Data is compared with its hash when it is read; a mismatch is an error.
"""

import asyncio
import hashlib
from typing import Any, TypeGuard
from uuid import UUID

import msgspec

from plait.model.errors import ArtifactAltered, ArtifactMissing, StorageFailed, TooLarge
from plait.runtime.object_storage import Objects
from plait.store import Store
from plait.store.artifacts import ArtifactRow, Kind

_BEGINS = '{"$artifact":'


class _What(msgspec.Struct, forbid_unknown_fields=True):
    sha256: str
    size: int


class _Reference(msgspec.Struct, forbid_unknown_fields=True):
    what: _What = msgspec.field(name="$artifact")


def is_reference(text: str | None) -> TypeGuard[str]:
    """Whether the text has the form of a reference. Only the database can tell whether it refers to an artifact."""
    return text is not None and text.startswith(_BEGINS)


def hash_in(text: str) -> str | None:
    """The hash in a reference; None if the text is not a valid reference."""
    try:
        return msgspec.json.decode(text, type=_Reference).what.sha256
    except msgspec.MsgspecError:
        return None


class Artifacts:
    def __init__(self, store: Store, objects: Objects | None, *, most: int) -> None:
        """`objects`: None if no artifact store is configured. `most`: the maximum size in bytes."""
        self._store = store
        self._objects = objects
        self._most = most

    async def keep(self, large: TooLarge, *, job_id: UUID, tenant_id: UUID, kind: Kind) -> str:
        """Store the artifact for this job and return its reference. Raises TooLarge if it cannot be stored."""
        if self._objects is None:
            raise TooLarge(f"{large}. Set PLAIT_ARTIFACTS to store larger values as artifacts", large.text) from None
        data = large.text.encode()
        if len(data) > self._most:
            raise TooLarge(f"{large}, and artifacts are limited to {self._most:,} bytes", large.text) from None
        sha256 = await asyncio.to_thread(_hash, data)
        artifact = await self._store.artifacts.register_artifact(
            job_id, kind, sha256=sha256, size=len(data), tenant_id=tenant_id
        )
        await self._objects.put(name_of(artifact, tenant_id), data)
        return msgspec.json.encode(_Reference(_What(sha256, len(data)))).decode()

    async def resolve(self, text: str, *, job_id: UUID, tenant_id: UUID, kind: Kind) -> str:
        """The content that the text refers to; the text itself if it is not a reference."""
        sha256 = hash_in(text)
        if sha256 is None:
            return text
        row = await self._store.artifacts.find_artifact(job_id, sha256, kind=kind, tenant_id=tenant_id)
        return text if row is None else (await self.read(row)).decode()

    async def read(self, row: ArtifactRow) -> bytes:
        """The bytes as they were stored; raises an error if they are missing or changed."""
        if self._objects is None:
            raise StorageFailed(
                "this process has no artifact store: set PLAIT_ARTIFACTS to the same value as in the process that stored the artifact"
            )
        data = await self._objects.get(name_of(row.id, row.tenant_id))
        if data is None:
            raise ArtifactMissing(f"the {row.kind} of job {row.job_id} is no longer in the artifact store")
        if len(data) != row.size or await asyncio.to_thread(_hash, data) != row.sha256:
            raise ArtifactAltered(
                f"the {row.kind} of job {row.job_id} was changed in the artifact store: its hash differs"
            )
        return data


def _hash(data: bytes) -> str:
    """Hash the data. Called in a thread, because hashing 64 MiB would block the event loop."""
    return hashlib.sha256(data).hexdigest()


def name_of(artifact: Any, tenant_id: Any) -> str:
    """The key of an artifact in the object store."""
    return f"{tenant_id}/{artifact}"
