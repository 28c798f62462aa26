"""Parent, children and follow-ups with SQL functions only, inside one transaction that rolls back."""

from uuid import UUID

import asyncpg
import pytest

from ..harness import Harness

ENQUEUE = "select plait.enqueue('derive_statistical_unit', '{}', queue => 'analytics')"
SPAWN = """select plait.spawn('statistical_unit_refresh_batch', json_build_object('batch_seq', $2::int), parent => $1,
                              queue => 'analytics', priority => 20)"""
AFTER = "select plait.after($1, $2, queue => 'analytics', dedupe_key => $2)"
STATE = "select status from plait.get_job($1)"
KINDS = ["derive_statistical_unit", "statistical_unit_refresh_batch", "analyze_tables", "derive_reports"]


async def process_tasks(db: asyncpg.Connection, worker: int) -> list[str]:
    """Claim the jobs that may run, run them, and settle them."""
    ran = []
    for job_id, attempt, definition in await db.fetch(
        "select job_id, attempt, definition from plait.claim($1, 'analytics', 10)", worker
    ):
        ran.append(definition)
        if definition == "derive_statistical_unit":
            for n in range(3):
                await db.fetchval(SPAWN, job_id, n)
            for uncle in ("analyze_tables", "derive_reports"):
                await db.fetchval(AFTER, job_id, uncle)
        await db.fetch(
            "select * from plait.settle($1, array[$2::uuid], array[$3::int], array['succeeded'])",
            worker,
            job_id,
            attempt,
        )
    return ran


@pytest.mark.parametrize("mode", ["parallel", "serial"])
async def test_parents_children_and_follow_ups_need_only_sql(harness: Harness, mode: str) -> None:
    await harness.queue("analytics", serial=mode == "serial")
    async with harness.connection() as db:
        transaction = db.transaction()
        await transaction.start()
        worker = await db.fetchval("select plait.register_worker('h', 1, '0', '{analytics}', $1)", KINDS)
        parent: UUID = await db.fetchval(ENQUEUE)

        assert await process_tasks(db, worker) == ["derive_statistical_unit"]
        assert await db.fetchval(STATE, parent) == "waiting"
        assert await db.fetchval("select plait.has_pending_children($1)", parent) is True

        assert await process_tasks(db, worker) == ["statistical_unit_refresh_batch"] * 3
        assert await db.fetchval(STATE, parent) == "succeeded"
        assert await db.fetchval("select plait.has_pending_children($1)", parent) is False

        ran = await process_tasks(db, worker) + await process_tasks(db, worker)
        assert sorted(ran) == ["analyze_tables", "derive_reports"]
        await transaction.rollback()
    assert await harness.counts() == {}


async def test_a_table_s_trigger_can_enqueue_and_spawn(own_harness: Harness) -> None:
    """As a user would: a trigger that enqueues, in the transaction that changed the row, and one that spawns."""
    await own_harness.admin.execute("""
        create table public.enterprise (id int primary key, task uuid);
        create function public.enterprise_changed() returns trigger language plpgsql security definer as $$
        begin
          if new.task is null then
            perform plait.enqueue('add', json_build_object('id', new.id), dedupe_key => 'derive');
          else
            perform plait.spawn('other', json_build_object('id', new.id), parent => new.task);
          end if;
          return null;
        end $$;
        create trigger changed after insert on public.enterprise for each row execute function public.enterprise_changed();
    """)
    await own_harness.admin.execute("insert into public.enterprise select n from generate_series(1, 5) n")
    worker = await own_harness.worker()
    lease = await worker.claim_one()
    await own_harness.admin.execute("insert into public.enterprise values (6, $1)", lease.job_id)
    await worker.succeed(lease, "done")
    assert await own_harness.status(lease.job_id) == "waiting"
    child = await worker.claim_one()
    assert child.payload == '{"id" : 6}'
    await worker.succeed(child)
    assert (await own_harness.job(lease.job_id)).result == '"done"'
