"""The worker's log lines about finished jobs."""

from typing import Any

import structlog

from plait import Plait, current
from plait.model.states import AttemptOutcome
from plait.worker.finished_jobs import PER_SECOND, FinishedJobs

from .conftest import Running


class FakeRun:
    """A run, as far as the lines need it."""

    def __init__(self, definition: str) -> None:
        self.claimed = self
        self.definition = definition

    def current(self) -> Any:
        return self

    def about(self) -> dict[str, Any]:
        return {"definition": self.definition}

    def ran_ms(self) -> float:
        return 2.0


def finish(jobs: FinishedJobs, count: int, definition: str = "mail", outcome: str = "succeeded") -> None:
    for _ in range(count):
        jobs.add(FakeRun(definition), AttemptOutcome(outcome))  # type: ignore[arg-type]


def test_above_the_rate_one_line_a_second_has_the_counts_by_definition_and_outcome() -> None:
    with structlog.testing.capture_logs() as lines:
        jobs = FinishedJobs()
        finish(jobs, PER_SECOND)
        jobs.summarize()
        assert [line["event"] for line in lines] == ["job finished"] * PER_SECOND
        assert lines[0] == {
            "event": "job finished", "log_level": "info", "component": "worker",
            "definition": "mail", "outcome": "succeeded", "duration_ms": 2.0,
        }  # fmt: skip
        lines.clear()
        finish(jobs, PER_SECOND + 3)
        jobs.summarize()
        assert [line["event"] for line in lines] == ["job finished"] * PER_SECOND + ["jobs finished"]
        assert lines[-1]["jobs"] == 3
        lines.clear()
        finish(jobs, 100)
        finish(jobs, 7, "mail", "skipped")
        finish(jobs, 5, "report", "canceled")
        jobs.summarize()
        [line] = lines
        assert (line["jobs"], line["duration_ms"]) == (112, 2.0)
        assert line["finished"] == {"mail": {"succeeded": 100, "skipped": 7}, "report": {"canceled": 5}}
        lines.clear()
        finish(jobs, 1)
        jobs.summarize()
        finish(jobs, 1)
        assert [line["event"] for line in lines] == ["jobs finished", "job finished"]


async def test_a_finished_job_is_logged_with_its_duration_and_attempt(app: Plait, running: Running) -> None:
    @app.job
    async def works() -> str:
        return current().trace_id

    with structlog.testing.capture_logs() as lines:
        async with running(app):
            handle = await works.enqueue()
            trace_id = await handle.result(timeout=120)
    [line] = [line for line in lines if line["event"] == "job finished"]
    assert (line["job_id"], line["attempt"], line["trace_id"]) == (str(handle.id), 1, trace_id)
    assert (line["outcome"], line["log_level"]) == ("succeeded", "info")
    assert line["duration_ms"] >= 0
