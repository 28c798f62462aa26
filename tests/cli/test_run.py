"""`plait run`: its output and exit codes."""

import json
from pathlib import Path

from plait.testing import TestDatabase

from .cli_runner import call, run
from .conftest import RunPlait

ROOT = Path(__file__).parents[2]
HELLO = ROOT / "examples" / "hello.py"


def test_hello_world_is_six_lines_and_one_command(data_dir: Path) -> None:
    assert len(HELLO.read_text().splitlines()) <= 6
    ran = run("run", HELLO, "hello", "name=world", PLAIT_DATA_DIR=str(data_dir))
    assert (ran.code, ran.out, ran.err) == (0, "Hello, world!\n", "")


def test_a_result_is_printed_as_text_or_as_json(real_clock_database: TestDatabase, shop: Path) -> None:
    def ran(*arguments: str) -> str:
        ended = run("run", shop, *arguments, "--url", real_clock_database.url)
        assert ended.code == 0, ended.err
        return ended.out

    assert ran("greet", "name=Ada") == "Hello, Ada!\n"
    assert ran("greet", '--payload={"name": "Ada"}', "times=2") == "Hello, Ada! Hello, Ada!\n"
    assert ran("sleep", "seconds=0") == "0.0\n"
    told = json.loads(ran("greet", "name=Ada", "--json"))
    assert (told["status"], told["result"]) == ("succeeded", "Hello, Ada!")


def test_a_job_that_fails_is_1_and_tells_its_error(real_clock_database: TestDatabase, shop: Path) -> None:
    ran = run("run", shop, "fail", "why=rain", "--url", real_clock_database.url)
    assert (ran.code, ran.out) == (1, "")
    assert "ValueError: rain" in ran.err.splitlines()[-1]
    told = run("run", shop, "fail", "why=rain", "--url", real_clock_database.url, "--json")
    assert (told.code, told.json["status"]) == (1, "dead_letter")
    attempts = call("jobs", "show", told.json["id"], "--url", real_clock_database.url, "--json").json["attempts"]
    assert [attempt["status"] for attempt in attempts] == ["failed", "failed"]


def test_a_job_with_nothing_to_do_is_no_failure(real_clock_database: TestDatabase, shop: Path) -> None:
    ran = run("run", shop, "skip", "--url", real_clock_database.url)
    assert (ran.code, ran.out) == (0, "")
    assert "there is nothing to do" in ran.err


def test_a_job_in_a_process_of_its_own_is_found_there(real_clock_database: TestDatabase, shop: Path) -> None:
    ran = run("run", shop, "pid", "--url", real_clock_database.url)
    assert (ran.code, ran.err) == (0, "")
    assert int(ran.out) > 0


def test_nothing_is_asked_for_with_bad_arguments(plait_on: RunPlait, shop: Path) -> None:
    assert plait_on("run", shop, "greet").code == 2
    assert plait_on("run", shop, "greet", "nam=Ada").code == 2
    assert plait_on("run", shop, "nothing").code == 2
    assert plait_on("jobs", "--json").json == []
