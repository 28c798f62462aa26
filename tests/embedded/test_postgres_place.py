"""The location of the files, the user that runs Postgres, and directories that this user can't enter."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

import pytest

from plait.embedded import postgres_binaries, postgres_place
from plait.embedded.postgres import EmbeddedPostgres
from plait.embedded.postgres_errors import (
    ClusterGone,
    NoPostgresThere,
    NoUnprivilegedUser,
    StartFailed,
    UnreachableDirectory,
    UnsafeDirectory,
)
from plait.embedded.postgres_place import choose_data_dir
from plait.model.errors import StorageFailed
from plait.runtime.object_storage import open_objects

from .processes import eventually, postmasters, query

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only root runs Postgres as somebody else")


@pytest.fixture
def machine_home(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = data_dir / "machine"
    monkeypatch.setattr(postgres_place, "MACHINE_HOME", home)
    return home


@pytest.fixture
def barred(data_dir: Path) -> Path:
    """A directory below one that only root can pass, as root's home is."""
    closed = data_dir / "closed"
    closed.mkdir(mode=0o700)
    (closed / "project").mkdir()
    return closed / "project"


def test_the_data_directory_is_the_argument_then_the_variable_then_the_project_then_the_user(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data_dir / ".plait").mkdir()
    monkeypatch.chdir(data_dir)
    monkeypatch.setenv("PLAIT_DATA_DIR", "named")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert choose_data_dir(Path("given")) == data_dir / "given"
    assert choose_data_dir() == data_dir / "named"
    monkeypatch.delenv("PLAIT_DATA_DIR")
    assert choose_data_dir() == data_dir / ".plait"
    (data_dir / ".plait").rmdir()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.platform", "linux")
    assert choose_data_dir() == Path("/data/plait")
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/invalid")
    assert choose_data_dir() == Path.home() / ".local" / "share" / "plait"
    monkeypatch.setattr("sys.platform", "darwin")
    assert choose_data_dir() == Path.home() / "Library" / "Application Support" / "plait"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert choose_data_dir() == postgres_place.MACHINE_HOME


def test_a_directory_without_postgres_is_refused(data_dir: Path) -> None:
    with pytest.raises(NoPostgresThere, match=str(data_dir)):
        EmbeddedPostgres(data_dir, bin_dir=data_dir).start()


@as_root
def test_below_a_barred_directory_the_place_is_elsewhere_and_found_again(machine_home: Path, barred: Path) -> None:
    with EmbeddedPostgres(barred / ".plait") as server:
        query(server, "create table kept (n int)", "select 1")
        assert (barred / ".plait" / "pg18").readlink().parent == machine_home / "elsewhere"
    with EmbeddedPostgres(barred / ".plait") as server:
        assert query(server, "select count(*) from kept") == 0
    eventually(lambda: not postmasters(barred / ".plait"))
    shutil.rmtree(barred / ".plait")
    with EmbeddedPostgres(barred / ".plait") as server:
        assert query(server, "select to_regclass('kept') is null")
    eventually(lambda: not postmasters(barred / ".plait"))


@as_root
def test_a_directory_that_holds_other_things_is_not_opened(machine_home: Path, barred: Path) -> None:
    home = barred.parent
    for _ in range(2):  # the first leaves a link in it, the second must not take that for a sign
        with EmbeddedPostgres(home) as server:
            assert query(server, "select 1") == 1
        assert home.stat().st_mode & 0o777 == 0o700
    eventually(lambda: not postmasters(home))


@as_root
def test_directories_that_root_makes_are_passable_whatever_its_umask(data_dir: Path) -> None:
    before = os.umask(0o077)
    try:
        with EmbeddedPostgres(data_dir / "deep" / "down") as server:
            assert server.socket_dir.is_relative_to(data_dir)
    finally:
        os.umask(before)
    eventually(lambda: not postmasters(data_dir / "deep" / "down"))


@as_root
def test_a_place_elsewhere_that_is_gone_is_an_error_and_not_an_empty_database(machine_home: Path, barred: Path) -> None:
    with EmbeddedPostgres(barred / ".plait"):
        pass
    eventually(lambda: not postmasters(barred / ".plait"))
    shutil.rmtree(machine_home)
    with pytest.raises(ClusterGone, match="elsewhere"):
        EmbeddedPostgres(barred / ".plait").start()


@as_root
def test_data_is_never_moved_off_its_volume(barred: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if Path("/dev/shm").stat().st_dev == barred.stat().st_dev:
        pytest.skip("needs a second file system: the shared memory's is the same")
    monkeypatch.setattr(postgres_place, "MACHINE_HOME", Path("/dev/shm/plait-never-made"))
    with pytest.raises(UnreachableDirectory, match=f"cannot enter {barred.parent}"):
        EmbeddedPostgres(barred / "data").start()
    assert not Path("/dev/shm/plait-never-made").exists()


@as_root
def test_programs_that_the_user_cannot_reach_are_copied_once(machine_home: Path, barred: Path, data_dir: Path) -> None:
    wheel = postgres_binaries.find(None).bin_dir.parent
    prefix = barred / wheel.parent.name / wheel.name
    shutil.copytree(wheel, prefix, symlinks=True)
    if (libraries := wheel.parent.with_name(f"{wheel.parent.name}.libs")).exists():
        shutil.copytree(libraries, barred / libraries.name)
    for _ in range(2):
        with EmbeddedPostgres(data_dir, bin_dir=prefix / "bin") as server:
            assert query(server, "select 1") == 1
    [copy] = (machine_home / "bin").iterdir()
    assert (copy / wheel.parent.name / wheel.name / "bin" / "postgres").exists()


@as_root
def test_a_data_directory_of_somebody_is_served_as_that_somebody(data_dir: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    theirs = data_dir / "theirs"
    theirs.mkdir()
    os.chown(theirs, nobody.pw_uid, nobody.pw_gid)
    with EmbeddedPostgres(theirs) as server:
        assert query(server, "select 1") == 1
    files = [path for path in theirs.rglob("*") if path.lstat().st_uid != nobody.pw_uid]
    assert files == []
    eventually(lambda: not postmasters(theirs))


@as_root
def test_the_user_can_be_named_and_is_given_the_cluster(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedPostgres(data_dir) as server:
        query(server, "create table kept (n int)", "select 1")
    monkeypatch.setenv("PLAIT_EMBEDDED_USER", "nobody")
    with EmbeddedPostgres(data_dir) as server:
        assert query(server, "select count(*) from kept") == 0
        assert server.socket_dir.stat().st_uid == pwd.getpwnam("nobody").pw_uid
    monkeypatch.setenv("PLAIT_EMBEDDED_USER", "root")
    with pytest.raises(NoUnprivilegedUser, match="root"):
        EmbeddedPostgres(data_dir).start()
    monkeypatch.setenv("PLAIT_EMBEDDED_USER", "no-such-user")
    with pytest.raises(NoUnprivilegedUser, match="no-such-user"):
        EmbeddedPostgres(data_dir).start()


@pytest.fixture
def theirs(data_dir: Path) -> Path:
    """A project of somebody's, who can put into it whatever they like."""
    project = data_dir / "project"
    project.mkdir(mode=0o755)
    _give(project)
    return project


@pytest.fixture
def roots(data_dir: Path) -> Path:
    """A directory that is root's alone, with a file in it."""
    secret = data_dir / "secret"
    secret.mkdir(mode=0o700)
    (secret / "file").write_text("precious")
    (secret / "file").chmod(0o600)
    return secret


def _give(path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)


def _plant(link: Path, target: Path) -> None:
    """A link that somebody has made, in directories of their own."""
    missing = [parent for parent in link.parents if not parent.exists()]
    link.parent.mkdir(parents=True, exist_ok=True)
    for parent in missing:
        _give(parent)
    link.symlink_to(target)
    _give(link)


@as_root
@pytest.mark.parametrize(
    "link", [".plait", ".plait/pg18", ".plait/pg18/data", ".plait/pg18/run", ".plait/pg18/log", ".plait/pg18/run/sock"]
)
def test_root_does_not_follow_a_link_to_a_directory_that_somebody_else_has_made(
    theirs: Path, roots: Path, link: str
) -> None:
    _plant(theirs / link, roots)
    with pytest.raises(UnsafeDirectory, match=rf"{theirs / link} is a symbolic link that belongs to uid"):
        EmbeddedPostgres(theirs / ".plait").start()
    assert roots.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in roots.iterdir()] == ["file"]


@as_root
@pytest.mark.parametrize(
    "link", ["run/users.lock", "run/keeper.lock", "run/ready.lock", "log/keeper.log", "log/postgres.log"]
)
def test_root_writes_to_no_file_that_somebody_else_has_linked(theirs: Path, roots: Path, link: str) -> None:
    _plant(theirs / ".plait" / "pg18" / link, roots / "file")
    with pytest.raises((UnsafeDirectory, StartFailed), match="is a symbolic link"):
        EmbeddedPostgres(theirs / ".plait").start()
    assert (roots / "file").read_text() == "precious"
    assert (roots / "file").stat().st_uid == 0


@as_root
def test_root_does_not_give_away_a_file_that_has_a_second_name(theirs: Path, roots: Path) -> None:
    log = theirs / ".plait" / "pg18" / "log"
    log.mkdir(parents=True)
    for parent in (log, log.parent, log.parent.parent):
        _give(parent)
    (log / "keeper.log").hardlink_to(roots / "file")
    with pytest.raises(UnsafeDirectory, match="has more than one hard link"):
        EmbeddedPostgres(theirs / ".plait").start()
    assert ((roots / "file").read_text(), (roots / "file").stat().st_uid) == ("precious", 0)


@as_root
def test_links_where_plait_publishes_its_address_are_replaced_and_not_written_through(
    theirs: Path, roots: Path
) -> None:
    _plant(theirs / ".plait" / "pg18" / "run" / "server.new", roots / "file")
    with EmbeddedPostgres(theirs / ".plait") as server:
        assert query(server, "select 1") == 1
    assert (roots / "file").read_text() == "precious"
    eventually(lambda: not postmasters(theirs / ".plait"))


@as_root
def test_a_link_of_roots_own_is_followed(data_dir: Path) -> None:
    (data_dir / "volume").mkdir(mode=0o755)
    (data_dir / "link").symlink_to(data_dir / "volume")
    with EmbeddedPostgres(data_dir / "link") as server:
        assert query(server, "select 1") == 1
    assert (data_dir / "volume" / "pg18").is_dir()
    eventually(lambda: not postmasters(data_dir / "volume"))


@as_root
def test_a_data_directory_that_somebody_left_in_a_shared_directory_is_not_taken(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLAIT_DATA_DIR", raising=False)
    data_dir.chmod(0o1777)
    (data_dir / ".plait").mkdir()
    _give(data_dir / ".plait")
    monkeypatch.chdir(data_dir)
    with pytest.raises(UnsafeDirectory, match="neither you nor the owner of"):
        choose_data_dir()
    _give(data_dir)
    assert choose_data_dir() == data_dir / ".plait"


@as_root
async def test_artifacts_are_not_written_through_a_link_that_somebody_else_has_made(theirs: Path, roots: Path) -> None:
    _plant(theirs / ".plait" / "artifacts", roots)
    with pytest.raises(StorageFailed, match="is a symbolic link that belongs to uid"):
        await open_objects(str(theirs / ".plait" / "artifacts")).put("a/b", b"x")
    assert [path.name for path in roots.iterdir()] == ["file"]
