"""The keeper as a program: the modules that it imports, and the limit of its log."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from plait.embedded.keeper.files import Lock
from plait.embedded.keeper.process import LOG_LIMIT
from plait.embedded.postgres import PROGRAM, EmbeddedPostgres

from .processes import eventually, keeper_of, query

LOADED = "import json, sys; sys.path[:0] = sys.argv[1:]; import keeper.process; print(json.dumps(sorted(sys.modules)))"


def test_the_keeper_loads_the_standard_library_and_nothing_else() -> None:
    command = [sys.executable, "-I", "-S", "-c", LOADED, str(PROGRAM)]
    loaded = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert {name.partition(".")[0] for name in loaded} <= sys.stdlib_module_names | {"__main__", "keeper"}


def test_the_keeper_has_a_session_of_its_own_and_holds_no_directory(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir):
        process = Path("/proc") / str(keeper_of(data_dir))
        session = int((process / "stat").read_text().rpartition(")")[2].split()[3])
        own = int((Path("/proc/self") / "stat").read_text().rpartition(")")[2].split()[3])
        assert session != own
        assert (process / "cwd").readlink() == Path("/")
        held = [
            name for handle in (process / "fd").iterdir() if not (name := str(handle.readlink())).startswith("pipe:")
        ]
        assert all(name == "/dev/null" or name.startswith(str(data_dir)) for name in held), held


def test_a_log_that_grows_large_is_put_aside_once(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        log = data_dir / "pg18" / "log" / "postgres.log"
        with log.open("a") as end:
            end.write("x" * (LOG_LIMIT + 1))
        eventually(lambda: log.stat().st_size < LOG_LIMIT)
        assert log.with_suffix(".log.1").stat().st_size > LOG_LIMIT
        query(server, "do $$ begin raise log 'still writing'; end $$", "select 1")
        eventually(lambda: "still writing" in log.read_text())


def test_two_locks_exclude_each_other_in_one_process(data_dir: Path) -> None:
    one, two = Lock(data_dir / "lock"), Lock(data_dir / "lock")
    assert one.try_shared()
    assert two.try_shared()
    assert not two.try_exclusive()
    one.release()
    assert two.try_exclusive()
    assert not one.try_shared()
    one.close()
    two.close()


def test_a_lock_is_never_taken_through_a_link(data_dir: Path) -> None:
    (data_dir / "lock").symlink_to(data_dir / "elsewhere")
    with pytest.raises(OSError, match="lock"):
        Lock(data_dir / "lock")
