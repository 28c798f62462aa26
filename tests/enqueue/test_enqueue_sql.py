"""`plait.enqueue` from plain SQL: one function for stored procedures, triggers, psql and any language."""

import asyncpg
import pytest

from plait.model.ids import new_id

from ..harness import Harness


async def test_one_job_with_all_that_can_be_said(harness: Harness) -> None:
    acme = await harness.tenant("acme")
    async with harness.connection() as connection:
        job = await connection.fetchval(
            """select plait.enqueue('send', '{"to": "a"}', tenant => 'acme', queue => 'mail', priority => 3,
                 max_attempts => 2, delay => '1 minute', dedupe_key => 'd', idempotency_key => 'i',
                 limit_key => 'l', correlation_id => 'c')"""
        )
    row = await harness.job(job)
    assert (row.tenant_id, row.definition, row.queue, row.priority, row.max_attempts) == (
        acme, "send", "mail", 3, 2,
    )  # fmt: skip
    assert (row.status, row.payload) == ("scheduled", '{"to": "a"}')
    assert (row.dedupe_key, row.idempotency_key, row.limit_key, row.correlation_id) == ("d", "i", "l", "c")


async def test_it_answers_with_the_job_that_holds_the_key(harness: Harness) -> None:
    sql = "select plait.enqueue('send', dedupe_key => 'd')"
    async with harness.connection() as connection:
        assert await connection.fetchval(sql) == await connection.fetchval(sql)
    assert await harness.counts() == {"queued": 1}


async def test_a_rollback_leaves_nothing_behind(harness: Harness) -> None:
    """Neither the job nor its keys are stored."""
    await harness.tenant("acme", max_queued=1)
    sql = "select plait.enqueue('send', tenant => 'acme', dedupe_key => 'd', idempotency_key => 'i')"
    async with harness.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        lost = await connection.fetchval(sql)
        await transaction.rollback()
        kept = await connection.fetchval(sql)
    assert kept != lost
    assert await harness.counts() == {"queued": 1}


async def test_a_job_is_claimed_only_after_its_transaction_commits(harness: Harness) -> None:
    worker = await harness.worker(definitions=["send"])
    async with harness.connection() as connection:
        async with connection.transaction():
            await connection.fetchval("select plait.enqueue('send')")
            assert await worker.claim(1) == []
        assert len(await worker.claim(1)) == 1


async def test_a_refusal_can_be_rolled_back_to_a_savepoint(harness: Harness) -> None:
    async with harness.connection() as connection, connection.transaction():
        with pytest.raises(asyncpg.PostgresError):
            async with connection.transaction():
                await connection.fetchval("select plait.enqueue('send', priority => 99999)")
        await connection.fetchval("select plait.enqueue('send')")
    assert await harness.counts() == {"queued": 1}


async def test_a_trigger_of_the_users_can_enqueue(own_harness: Harness) -> None:
    """An outbox is one line of SQL."""
    harness = own_harness
    await harness.admin.execute(
        """create table public.orders (id int); grant insert on public.orders to plait_dev;
           create function public.ordered() returns trigger language plpgsql as $$
           begin
             perform plait.enqueue('ship', json_build_object('order', new.id));
             return new;
           end $$;
           create trigger ordered after insert on public.orders
             for each row execute function public.ordered()"""
    )
    async with harness.connection() as connection:
        await connection.execute("insert into public.orders select generate_series(1, 3)")
    rows = await harness.store.jobs.list_jobs()
    assert [row.payload for row in rows] == ['{"order" : 3}', '{"order" : 2}', '{"order" : 1}']


async def test_keys_need_read_committed_and_plain_jobs_do_not(harness: Harness) -> None:
    async with harness.connection() as connection:
        async with connection.transaction(isolation="repeatable_read"):
            await connection.fetchval("select plait.enqueue('send')")
        with pytest.raises(asyncpg.PostgresError) as caught:
            async with connection.transaction(isolation="serializable"):
                await connection.fetchval("select plait.enqueue('send', dedupe_key => 'd')")
    assert caught.value.sqlstate == "PL010"


async def test_an_id_may_be_given(harness: Harness) -> None:
    job = new_id()
    async with harness.connection() as connection:
        for _ in range(2):
            assert await connection.fetchval("select plait.enqueue('send', id => $1)", job) == job
    assert await harness.counts() == {"queued": 1}


async def test_ids_made_in_sql_are_new_and_in_order_of_time(harness: Harness) -> None:
    async with harness.connection() as connection:
        first = await connection.fetchval("select plait.uuidv7()")
        made = {await connection.fetchval("select plait.uuidv7()") for _ in range(100)}
    assert len(made) == 100
    assert {id_.version for id_ in made} == {7}
    assert all(id_.int >> 80 >= first.int >> 80 for id_ in made)


async def test_a_commit_by_a_user_always_notifies(harness: Harness) -> None:
    """T109: the user's transaction may commit long after the call, and a worker may go to sleep in between."""
    heard: list[str] = []
    async with harness.connection() as listener, harness.connection() as user:
        await listener.add_listener("plait", lambda *event: heard.append(event[-1]))
        async with user.transaction():
            await user.fetchval("select plait.enqueue('send', queue => 'mail')")
            await user.fetchval("select plait.enqueue('send', queue => 'mail')")
        await listener.execute("select 1")
        await listener.execute("select 1")
    assert heard == ["queue mail"]
