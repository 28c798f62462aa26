"""Object storage: a directory, and an S3 bucket."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from plait import Plait
from plait.model.errors import StorageFailed
from plait.runtime.object_storage import Directory, Objects, open_objects
from plait.runtime.settings import Settings
from plait.testing import TestDatabase

from .conftest import Drain
from .test_artifacts import LARGE


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """An S3-compatible server with a bucket. The environment has its address."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    said = {
        "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in said.items():
            patch.setenv(name, value)
        boto3.client("s3").create_bucket(Bucket="plait")
        yield "s3://plait/below"
    server.stop()


@pytest.fixture(params=["directory", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    return open_objects(str(tmp_path) if request.param == "directory" else request.getfixturevalue("s3"))


async def test_what_was_put_is_there_until_it_is_deleted(objects: Objects) -> None:
    assert await objects.get("a/b") is None
    await objects.put("a/b", b"first")
    await objects.put("a/b", b"second")
    assert await objects.get("a/b") == b"second"
    await objects.delete("a/b")
    await objects.delete("a/b")
    assert await objects.get("a/b") is None


async def test_a_bucket_that_is_not_there_is_told(s3: str) -> None:
    with pytest.raises(StorageFailed, match="nowhere"):
        await open_objects("s3://nowhere").put("a", b"")


async def test_large_values_go_through_a_bucket(s3: str, database: TestDatabase, drain: Drain) -> None:
    app = Plait(database.url, settings=Settings(poll=0.05, listen=False, artifacts=s3))

    @app.job
    async def echo(text: str) -> str:
        return text

    handle = await echo.enqueue(LARGE)
    await drain(app)
    assert await handle.result(timeout=120) == LARGE
    listed = boto3.client("s3").list_objects_v2(Bucket="plait", Prefix="below/")
    assert listed["KeyCount"] == 2
    await app.close()


@pytest.mark.parametrize("place", ["s3://", "s3:///prefix", "gs://bucket", "https://bucket.example/"])
def test_a_place_that_is_none_is_refused_at_once(place: str) -> None:
    with pytest.raises(StorageFailed, match="a directory or s3://bucket/prefix"):
        open_objects(place)


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/a", "a//b", "", ".", "a/.", "a\0b"])
async def test_no_name_leads_out_of_the_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageFailed):
        await Directory(tmp_path / "in").put(name, b"")
    assert list(tmp_path.iterdir()) == []


async def test_a_put_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    objects = Directory(tmp_path)
    await objects.put("a/x", b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFailed, match="No space left"):
        await objects.put("a/x", b"new")
    assert await objects.get("a/x") == b"old"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["x"]


async def test_many_put_the_same_at_once(tmp_path: Path) -> None:
    objects = Directory(tmp_path)
    await asyncio.gather(*(objects.put("a/b/c", b"%d" % n * 1000) for n in range(10)))
    assert len(set((await objects.get("a/b/c") or b"").decode())) == 1
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["c"]
