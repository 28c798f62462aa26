"""Object storage outside of the database: in a directory, or in an S3 bucket (requires the extra `s3`). When `put` has
returned, the object is stored completely, and survives a crash. An object is never visible before it is complete.
"""

import asyncio
import os
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

from plait.embedded.keeper.files import Unsafe, refuse_links
from plait.model.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable


class Objects(Protocol):
    async def put(self, name: str, data: bytes) -> None: ...

    async def get(self, name: str) -> bytes | None:
        """The object's data; None if it does not exist."""

    async def delete(self, name: str) -> None:
        """Delete an object. Succeeds even if it does not exist."""


def open_objects(place: str) -> Objects:
    """Open `s3://bucket/prefix` or a directory."""
    parts = urlsplit(place)
    if parts.scheme == "s3" and parts.netloc:
        return Bucket(parts.netloc, parts.path.strip("/"))
    if parts.scheme not in ("", "file"):
        raise StorageFailed(f"storage must be a directory or s3://bucket/prefix, got {place!r}")
    return Directory(Path(parts.path if parts.scheme == "file" else place))


class Directory:
    def __init__(self, root: Path) -> None:
        self._root = root

    async def put(self, name: str, data: bytes) -> None:
        await asyncio.to_thread(_tried, lambda: self._put(self._path(name), data))

    async def get(self, name: str) -> bytes | None:
        return await asyncio.to_thread(_tried, lambda: _read(self._path(name)))

    async def delete(self, name: str) -> None:
        await asyncio.to_thread(_tried, lambda: self._path(name).unlink(missing_ok=True))

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        if not all(part and part not in (".", "..") and "\\" not in part and "\0" not in part for part in parts):
            raise StorageFailed(f"{name!r} is not a valid object name")
        return self._root.joinpath(*parts)

    def _put(self, path: Path, data: bytes) -> None:
        try:
            refuse_links(path.parent)
        except Unsafe as error:
            raise StorageFailed(f"unsafe directory for root: {error}") from None
        _make(path.parent)
        half = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")  # readers skip hidden files
        try:
            with half.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            half.replace(path)
        except BaseException:
            half.unlink(missing_ok=True)
            raise
        _sync(path.parent)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _make(directory: Path) -> None:
    """Create a directory and its parents, each synced to disk before anything is put into it."""
    if directory.is_dir():
        return
    _make(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=True)
    _sync(directory.parent)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _tried(work: "Callable[[], Any]") -> Any:
    try:
        return work()
    except OSError as error:
        raise StorageFailed(f"{error.filename or 'the directory'}: {error.strerror}") from error


class Bucket:
    """An S3 bucket. Credentials, region and endpoint come from the usual AWS settings: AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL_S3 …"""

    def __init__(self, bucket: str, prefix: str) -> None:
        if not find_spec("boto3"):
            raise StorageFailed("s3:// storage requires an extra: pip install 'plait[s3]'")
        self._made: Any = None
        self._making = threading.Lock()
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""

    async def put(self, name: str, data: bytes) -> None:
        await self._call("put_object", name, Body=data)

    async def get(self, name: str) -> bytes | None:
        def read() -> bytes | None:
            client = self._client()
            try:
                answer = client.get_object(Bucket=self._bucket, Key=self._prefix + name)
            except client.exceptions.NoSuchKey:
                return None
            with answer["Body"] as body:
                data: bytes = body.read()
            return data

        return await asyncio.to_thread(self._asked, read)

    async def delete(self, name: str) -> None:
        await self._call("delete_object", name)

    async def _call(self, method: str, name: str, **arguments: Any) -> None:
        key = self._prefix + name
        await asyncio.to_thread(
            self._asked, lambda: getattr(self._client(), method)(Bucket=self._bucket, Key=key, **arguments)
        )

    def _client(self) -> Any:
        """The S3 client. It is created once, in a thread, because that is slow."""
        import boto3

        with self._making:
            self._made = self._made or boto3.client("s3")
            return self._made

    def _asked(self, work: "Callable[[], Any]") -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return work()
        except (BotoCoreError, ClientError) as error:
            raise StorageFailed(f"s3://{self._bucket}: {error}") from error
