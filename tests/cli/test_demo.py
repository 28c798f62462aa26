"""`plait demo` needs no input and prints what happened. The commands that it suggests work."""

import re
from pathlib import Path

from .cli_runner import call, run


def test_the_demo_keeps_its_word_and_can_be_run_again(data_dir: Path) -> None:
    first = run("demo", "--data-dir", data_dir, PLAIT_DATABASE_URL="postgresql://nobody@127.0.0.1:1/untouched")
    assert (first.code, first.err) == (0, "")
    assert "298 jobs of 2 tenants" in first.out
    assert "unset PLAIT_DATABASE_URL" in first.out
    told = run("demo", "--data-dir", data_dir, "--json").json
    assert (told["ok"], told["faults"]) == (True, [])
    assert told["tenants"]["acme"]["statuses"] == {"succeeded": 144, "failed": 1, "dead_letter": 1}
    assert told["tenants"]["globex"]["statuses"] == {"succeeded": 150, "canceled": 1, "skipped": 1}

    dead = told["notes"][0]["id"]
    assert dead in [row["id"] for row in call("jobs", "-A", "-s", "dead_letter", "--json", "--data-dir", data_dir).json]
    [shown] = re.findall(r"jobs show (\S+)", first.out)
    assert "the ledger is not reachable" in call("jobs", "show", shown, "--data-dir", data_dir).out
    assert call("jobs", "retry", shown, "--data-dir", data_dir).code == 0


def test_the_demo_touches_no_server_of_the_users() -> None:
    assert call("demo", "--url", "postgresql://somewhere/else").code == 2
