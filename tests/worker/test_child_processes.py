"""Processes that run handlers: leftovers of one job never report for the next job, and never affect its outcome."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plait import JobDeadLettered, JobFailed, Plait
from tests.waiting import eventually
from tests.worker import leftovers
from tests.worker.conftest import run_worker


@pytest.fixture
async def children(app: Plait) -> AsyncIterator[Plait]:
    """A worker with one handler process, so that jobs run in it one after the other."""
    leftovers.app.target = app.target
    async with run_worker(leftovers.app, processes=1):
        yield leftovers.app
    await leftovers.app.close()


async def test_a_thread_left_behind_cannot_report_progress_for_the_next_job(children: Plait, tmp_path: Path) -> None:
    first = await leftovers.leaves_a_thread.enqueue(str(tmp_path))
    pid = await first.result(60)
    second = await leftovers.beta.enqueue(str(tmp_path), "said")
    assert await second.result(60) == pid  # a leftover thread alone does not end the process
    assert f"job {first.id} has ended" in (tmp_path / "said").read_text()
    (attempt,) = await (await children.store()).jobs.list_attempts(second.id)
    assert attempt.progress is None
    assert await (await leftovers.beta.enqueue()).result(60) != pid  # but a leftover thread that uses plait does


@pytest.mark.parametrize("how", ["returns", "raises", "exits"])
async def test_a_forked_copy_of_a_handler_settles_no_job(children: Plait, tmp_path: Path, how: str) -> None:
    first = await leftovers.forks.enqueue(str(tmp_path), how)
    pid = await first.result(60)
    assert pid > 0
    second = await (await leftovers.beta.enqueue()).result(60)
    assert second not in (pid, -1)  # the forked copy is still running, so another process runs the next jobs
    third = await leftovers.beta.enqueue(str(tmp_path), "beta")
    assert await third.result(60) == second


@pytest.mark.parametrize(("how", "code"), [("returns", 0), ("raises", 1), ("exits", 3), ("reports", 4)])
async def test_a_forked_copy_ends_as_a_program_and_its_job_goes_on(children: Plait, how: str, code: int) -> None:
    handle = await leftovers.forks_and_waits.enqueue(how)
    assert await handle.result(60) == code
    (attempt,) = await (await children.store()).jobs.list_attempts(handle.id)
    assert attempt.progress is None


@pytest.mark.parametrize("daemon", [False, True])
async def test_a_process_with_leftover_processes_is_ended_with_them(
    children: Plait, tmp_path: Path, daemon: bool
) -> None:
    pids = tmp_path / "pids"
    pid = await (await leftovers.leaves_a_process.enqueue(str(pids), daemon)).result(60)
    left = int(pids.read_text())

    async def both_gone() -> bool:
        return not any(Path(f"/proc/{one}/exe").exists() for one in (pid, left))

    await eventually(both_gone, what="the end of the leftover process")
    assert await (await leftovers.beta.enqueue()).result(60) != pid


async def test_a_process_whose_threads_called_plait_is_not_used_again(children: Plait) -> None:
    pid = await (await leftovers.leaves_a_thread_that_called_plait.enqueue()).result(60)
    assert await (await leftovers.beta.enqueue()).result(60) != pid


async def test_threads_of_libraries_and_processes_that_ended_do_not_prevent_reuse(children: Plait) -> None:
    pid = await (await leftovers.leaves_a_thread_of_a_library.enqueue()).result(60)
    assert await (await leftovers.starts_a_process_that_ends.enqueue()).result(60) == pid
    assert await (await leftovers.beta.enqueue()).result(60) == pid


async def test_a_handler_does_not_see_context_variables_of_the_one_before(children: Plait) -> None:
    assert [await (await leftovers.sets_a_variable.enqueue()).result(60) for _ in range(2)] == ["nothing"] * 2


@pytest.mark.parametrize("then_opens", [False, True])
async def test_a_handler_that_closes_its_channel_fails_alone_and_with_the_true_cause(
    children: Plait, then_opens: bool
) -> None:
    handle = await leftovers.closes_descriptors.enqueue(then_opens)
    with pytest.raises(JobDeadLettered, match="must close only descriptors that it opened"):
        await handle.result(60)
    (attempt,) = await (await children.store()).jobs.list_attempts(handle.id)
    assert (attempt.reason, attempt.exit_code) == ("process_died", None)
    assert "SIGTERM" not in (attempt.error or "")
    assert await (await leftovers.beta.enqueue()).result(60) > 0


@pytest.mark.parametrize("garbage", ["x", "garbage and more of it", "\0\0\0\2{}", "plt1\0\0\0\2[]", "plt1\0\0\0\2{}"])
async def test_a_handler_that_writes_garbage_to_its_channel_fails_alone(children: Plait, garbage: str) -> None:
    handle = await leftovers.writes_garbage.enqueue(garbage)
    with pytest.raises(JobDeadLettered, match="sent an invalid message") as failed:
        await handle.result(60)
    assert "SIGTERM" not in str(failed.value)
    assert await (await leftovers.beta.enqueue()).result(60) > 0


async def test_garbage_that_came_between_two_jobs_is_not_the_next_one_s_fault(children: Plait, tmp_path: Path) -> None:
    pid = await (await leftovers.spoils_the_channel_later.enqueue(str(tmp_path))).result(60)
    (tmp_path / "go").touch()

    async def spoiled() -> bool:
        return (tmp_path / "done").exists()

    await eventually(spoiled, what="garbage in the channel")
    assert await (await leftovers.beta.enqueue()).result(60) not in (pid, -1)


async def test_a_process_that_died_between_two_jobs_is_replaced(children: Plait, tmp_path: Path) -> None:
    pid = await (await leftovers.dies_later.enqueue(str(tmp_path))).result(60)
    (tmp_path / "go").touch()

    async def dead() -> bool:
        return not Path(f"/proc/{pid}/exe").exists()

    await eventually(dead, what="the end of the process")
    assert await (await leftovers.beta.enqueue()).result(60) != pid


async def test_a_result_of_50_mb_belongs_to_its_job_alone(children: Plait) -> None:
    large = await leftovers.returns_text.enqueue(50_000_000)
    others = [await leftovers.returns_text.enqueue(3) for _ in range(3)]
    with pytest.raises(JobFailed, match="PLAIT_ARTIFACTS"):  # no artifact store is configured
        await large.result(60)
    assert [await other.result(60) for other in others] == ["xxx"] * 3
