"""`plait enqueue`, with and without the job's code."""

from pathlib import Path

from .conftest import RunPlait


def test_a_job_is_asked_for_by_name_alone(plait_on: RunPlait) -> None:
    ran = plait_on("enqueue", "resize", "path=a.png", "width=200", "--priority", "5", "--correlation-id", "c1")
    assert (ran.code, ran.err) == (0, "")
    told = plait_on("jobs", "show", ran.out.strip(), "--json").json
    assert told["payload"] == {"path": "a.png", "width": 200}
    assert (told["definition"], told["priority"], told["correlation_id"]) == ("resize", 5, "c1")


def test_with_an_app_arguments_are_checked(plait_on: RunPlait, shop: Path) -> None:
    job = plait_on("enqueue", shop, "greet", "name=42").out.strip()
    assert plait_on("jobs", "show", job, "--json").json["payload"] == {"name": "42"}
    job = plait_on("enqueue", f"{shop}:app", "sleep", '--payload={"seconds": 1}').out.strip()
    assert plait_on("jobs", "show", job, "--json").json["queue"] == "slow"
    refused = plait_on("enqueue", shop, "greet", "name=Ada", "times=often")
    assert (refused.code, refused.out) == (2, "")
    assert "times" in refused.err
    assert "it has greet, fail" in plait_on("enqueue", shop, "great", "name=Ada").err


def test_an_app_without_a_job_is_no_job(plait_on: RunPlait, shop: Path) -> None:
    assert plait_on("enqueue", shop).code == 2


def test_keys_are_told_when_they_hold(plait_on: RunPlait) -> None:
    first = plait_on("enqueue", "tidy", "--dedupe-key", "house")
    second = plait_on("enqueue", "tidy", "--dedupe-key", "house")
    assert second.out == first.out
    assert "another job has this key" in second.err
    told = plait_on("enqueue", "tidy", "--dedupe-key", "house", "--json").json
    assert (told["id"], told["deduplicated"]) == (first.out.strip(), True)
    plait_on("enqueue", "pay", "sum=1", "--idempotency-key", "k")
    conflict = plait_on("enqueue", "pay", "sum=2", "--idempotency-key", "k")
    assert conflict.code == 1
    assert "idempotency" in conflict.err


def test_later_is_by_delay_or_by_time(plait_on: RunPlait) -> None:
    delayed = plait_on("enqueue", "tidy", "--delay", "90").out.strip()
    assert plait_on("jobs", "show", delayed, "--json").json["run_at"] == "2030-01-01T12:01:30Z"
    dated = plait_on("enqueue", "tidy", "--at", "2030-02-01T00:00Z").out.strip()
    assert plait_on("jobs", "show", dated, "--json").json["run_at"] == "2030-02-01T00:00:00Z"


def test_what_the_database_refuses_is_told(plait_on: RunPlait) -> None:
    assert plait_on("enqueue", "tidy", "--queue", "no such queue").code == 1
    unknown = plait_on("enqueue", "tidy", "--tenant", "nobody")
    assert (unknown.code, unknown.err) == (1, "plait: there is no tenant 'nobody'\n")
