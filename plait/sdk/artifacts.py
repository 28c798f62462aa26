"""Artifacts: payloads, results, results of steps and signals that are too large for a row are kept in a store of bytes, and the row has a reference.

    {"$artifact":{"sha256":"…","size":5242880}}

It is a reference exactly where the database knows of an artifact with that hash for that very job; anything else of this shape is the
user's own JSON, and stays what it is. So nobody reads another job's bytes by writing such a thing. The same content has the same
reference, which an idempotency key rests on. What is read is compared with the hash: bytes that differ are an error, never an answer.
"""

import asyncio
import hashlib
from typing import Any, TypeGuard
from uuid import UUID

import msgspec

from plait.model.errors import ArtifactAltered, ArtifactMissing, StorageFailed, TooLarge
from plait.runtime.objects import Objects
from plait.store import Store
from plait.store.artifacts import ArtifactRow, Kind

_BEGINS = '{"$artifact":'


class _What(msgspec.Struct, forbid_unknown_fields=True):
    sha256: str
    size: int


class _Reference(msgspec.Struct, forbid_unknown_fields=True):
    what: _What = msgspec.field(name="$artifact")


def is_reference(text: str | None) -> TypeGuard[str]:
    """Whether it may be one: the database knows."""
    return text is not None and text.startswith(_BEGINS)


def hash_in(text: str) -> str | None:
    """The hash that a reference names; None for what only looks like one."""
    try:
        return msgspec.json.decode(text, type=_Reference).what.sha256
    except msgspec.MsgspecError:
        return None


class Artifacts:
    def __init__(self, store: Store, objects: Objects | None, *, most: int) -> None:
        """`objects`: None where no place was named for them. `most`: bytes that one may have."""
        self._store = store
        self._objects = objects
        self._most = most

    async def keep(self, large: TooLarge, *, job_id: UUID, tenant_id: UUID, kind: Kind) -> str:
        """Store it for this job; the reference. TooLarge again where that can't be."""
        if self._objects is None:
            raise TooLarge(f"{large}. Set PLAIT_ARTIFACTS to keep what is larger in a store", large.text) from None
        data = large.text.encode()
        if len(data) > self._most:
            raise TooLarge(f"{large}; and not as an artifact: these have at most {self._most:,}", large.text) from None
        sha256 = await asyncio.to_thread(_hash, data)
        artifact = await self._store.artifacts.register_artifact(
            job_id, kind, sha256=sha256, size=len(data), tenant_id=tenant_id
        )
        await self._objects.put(name_of(artifact, tenant_id), data)
        return msgspec.json.encode(_Reference(_What(sha256, len(data)))).decode()

    async def resolve(self, text: str, *, job_id: UUID, tenant_id: UUID, kind: Kind) -> str:
        """What a reference stands for; the text itself where it is none."""
        sha256 = hash_in(text)
        if sha256 is None:
            return text
        row = await self._store.artifacts.find_artifact(job_id, sha256, kind=kind, tenant_id=tenant_id)
        return text if row is None else (await self.read(row)).decode()

    async def read(self, row: ArtifactRow) -> bytes:
        """Its bytes, as they were put; else an error."""
        if self._objects is None:
            raise StorageFailed("this process has no artifact store: set PLAIT_ARTIFACTS as where the job was enqueued")
        data = await self._objects.get(name_of(row.id, row.tenant_id))
        if data is None:
            raise ArtifactMissing(f"the {row.kind} of job {row.job_id} is not in the artifact store any more")
        if len(data) != row.size or await asyncio.to_thread(_hash, data) != row.sha256:
            raise ArtifactAltered(f"the {row.kind} of job {row.job_id} is not what was put into the artifact store")
        return data


def _hash(data: bytes) -> str:
    """In a thread: 64 MiB take more time than a loop has."""
    return hashlib.sha256(data).hexdigest()


def name_of(artifact: Any, tenant_id: Any) -> str:
    """Under which its bytes are stored."""
    return f"{tenant_id}/{artifact}"
