"""Every function that a login may call, and calls of it in an open transaction. A test fails if a function is missing.

Functions that are not volatile can't lock a row, so they are not listed.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

from plait.model.ids import new_id

from .workload import KEY, Workload

Call = Callable[[asyncpg.Connection, Workload], Awaitable[Any]]


def sql(text: str, *names: str) -> Call:
    """A statement with the ids of jobs of these names; `:a` is tenant a, and `:key` the key that others of it have."""

    async def call(connection: asyncpg.Connection, workload: Workload) -> Any:
        statement = text
        for name, id_ in [*workload.triggers.items(), ("key", KEY), ("a", workload.a)]:
            statement = statement.replace(f":{name}", f"'{id_}'")
        return await connection.fetch(statement, *(workload[name] for name in names))

    return call


def _enqueue_plainly(function: str) -> Call:
    async def call(connection: asyncpg.Connection, workload: Workload) -> Any:
        if function == "enqueue_one":
            return await connection.fetchval(
                "select plait.enqueue_one(p_id => $1, p_definition => 'add', p_payload => '{}', p_tenant => $2, "
                "p_queue => null, p_priority => null, p_max_attempts => null)",
                new_id(),
                workload.a,
            )
        return await connection.fetch(
            "select * from plait.enqueue_many(array[$1::uuid], array['add'], array['{}'], array[$2::uuid], p_dedupe_keys => array[$3])",
            new_id(), workload.a, KEY,
        )  # fmt: skip

    return call


def _on_each(verb: str, *names: str) -> dict[str, Call]:
    return {name: sql(verb, name) for name in names}


LIVE = (
    "a_parent", "a_child", "a_child_queued", "a_leaf_queued", "a_streamed_queued", "a_stream", "a_nursery", "a_spawned",
    "a_spawned_queued", "a_followed", "a_needed", "a_dependent", "a_running", "a_queued", "a_scheduled", "a_signaled",
)  # fmt: skip

VERBS: dict[str, dict[str, Call]] = {
    "cancel": _on_each("select plait.cancel($1, :a)", *LIVE),
    "cancel_tree": _on_each("select plait.cancel_tree($1, :a)", "a_top", "a_parent", "a_nursery", "a_needed"),
    "signal": _on_each("select plait.signal($1, 'go', '1', :a)", "a_parent", "a_child", "a_stream", "a_followed", "a_running", "a_signaled"),
    "spawn": {
        **_on_each("select plait.spawn('add', parent => $1, tenant => 'a')", "a_nursery", "a_child", "a_parent", "a_running"),
        "a_sibling": sql("select plait.spawn('add', sibling_of => $1, tenant => 'a')", "a_spawned"),
        "by its key": sql("select plait.spawn('add', parent => $1, tenant => 'a', dedupe_key => :key)", "a_running"),
    },
    "after": {
        **_on_each("select plait.after($1, 'add', tenant => 'a')", "a_nursery", "a_child", "a_stream", "a_running"),
        "by its key": sql("select plait.after($1, 'add', tenant => 'a', dedupe_key => :key)", "a_running"),
    },
    "enqueue": {
        "plainly": sql("select plait.enqueue('add', tenant => 'a')"),
        "by its key": sql("select plait.enqueue('add', tenant => 'a', dedupe_key => :key)"),
        "by an idempotency key": sql("select plait.enqueue('add', tenant => 'a', idempotency_key => :key)"),
        "by a limit": sql("select plait.enqueue('add', tenant => 'a', limit_key => 'k')"),
        **_on_each("select plait.enqueue('add', tenant => 'a', after => array[$1::uuid])", *LIVE),
        "after several": sql("select plait.enqueue('add', tenant => 'a', after => array[$1::uuid, $2, $3])", "a_child", "a_nursery", "a_needed"),
    },
    "enqueue_one": {"plainly": _enqueue_plainly("enqueue_one")},
    "enqueue_many": {"by its key": _enqueue_plainly("enqueue_many")},
    "retry": _on_each("select plait.retry($1, :a)", "a_dead", "a_child_dead"),
    "retry_tree": _on_each("select plait.retry_tree($1, :a)", "a_dead"),
    "reschedule": _on_each("select plait.reschedule($1, :a, plait.now() + interval '1 hour')", "a_queued", "a_scheduled", "a_dead", "a_child_queued"),
    "fork": _on_each("select plait.fork($1, :a)", "a_dead", "a_running", "a_parent"),
    "signal_or_start": {
        "by its key": sql("select plait.signal_or_start(plait.uuidv7(), 'add', '{}', :key, 'go', p_tenant => :a)"),
        "by a new key": sql("select plait.signal_or_start(plait.uuidv7(), 'add', '{}', 'new', 'go', p_tenant => :a)"),
    },
    "emit": {"an event": sql("select plait.emit('a', tenant => 'a')")},
    "set_trigger": {
        "a schedule": sql("select plait.set_trigger('a schedule', '{\"every_s\": 61}', :a)"),
        "an event": sql("select plait.set_trigger('a event', '{\"event_name\": \"c\"}', :a)"),
        "a new one": sql("select plait.set_trigger('a new one', '{\"definition\": \"add\", \"every_s\": 60}', :a, p_new => true)"),
    },
    "delete_trigger": {name: sql(f"select plait.delete_trigger(:{name}, :a)") for name in ("a_schedule", "a_event")},
    "set_endpoint": {"an endpoint": sql("select plait.set_endpoint('e', '{\"url\": \"https://example.com\", \"statuses\": [\"succeeded\"]}', :a)")},
    "delete_endpoint": {"an endpoint": sql("select plait.delete_endpoint(plait.set_endpoint('e', '{\"url\": \"https://example.com\"}', :a), :a)")},
    "rotate_endpoint": {"an endpoint": sql("select plait.rotate_endpoint(plait.set_endpoint('e', '{\"url\": \"https://example.com\"}', :a), :a)")},
    "set_connector": {"a connector": sql("select plait.set_connector('http', '{}', :a)")},
    "register_artifact": {"a payload": sql("select plait.register_artifact($1, 'payload', repeat('0', 64), 1, :a)", "a_running")},
    # Admins'.
    "define": {
        "a definition": sql("select plait.define('[{\"name\": \"add\", \"priority\": 7}]')"),
        "a new one": sql("select plait.define('[{\"name\": \"new\"}]')"),
    },
    "define_unknown": {
        "a new one": sql("select plait.define_unknown(plait.create_key(repeat('0', 64), 'h', 'k', 'worker', null, null, 'test'), array['new'])")
    },
    "await_claims": {"a queue": sql("select plait.await_claims('default')")},
    "clear_overrides": {"a definition": sql("select plait.clear_overrides('add')")},
    "set_definition": {"a definition": sql("select plait.set_definition('add', '{\"priority\": 7}')")},
    "set_queue": {"a queue": sql("select plait.set_queue('q_a_queued', '{\"max_running\": 5}')")},
    "set_tenant": {
        "a tenant": sql("select plait.set_tenant('a', '{\"weight\": 2}')"),
        "a new one": sql("select plait.set_tenant('c')"),
    },
    "create_key": {"a key": sql("select plait.create_key(repeat('0', 64), 'h', 'k', 'viewer', :a, null, 'test')")},
    "record_audit": {"an action": sql("select plait.record_audit(:a, 'x', 'y', null, null, null)")},
    "reserve_reply": {"a reply": sql("select plait.reserve_reply(:a, plait.uuidv7(), 'k', 'h')")},
}  # fmt: skip

NO_SHARED_ROWS = {
    "revoke_key", "authenticate", "authenticate_embed", "open_session", "use_login_link", "close_session", "open_embed", "enter_embed",
    "store_reply", "bind_login", "open_stream",
}  # fmt: skip
"""Of keys, sessions and stored replies: rows that only the API reads, each of one key."""

READERS = {
    "now", "uuidv7", "tenant_id", "explain_job", "has_failed_siblings", "has_pending_children", "changes", "findings", "examine",
    "claim_plan", "search_jobs", "metrics", "list_queues", "tenant_load", "usage",
}  # fmt: skip
"""Volatile for another reason than writing."""

MACHINERY = {
    "admit_requests", "after_many", "announce", "cancel_remaining", "claim", "claim_waits", "close_endpoint", "continue_as_new", "count_failures", "count_live", "cycle",
    "declare_triggers", "dispatch", "drain", "due_schedules", "elect", "fire", "gather", "gather_nodes", "heartbeat", "leave", "abandon_fan_outs", "await_steps", "drop_steps", "resume_steps",
    "log_attempt", "open_fan_out", "open_nodes", "open_nursery", "pending_events", "progress", "promote", "prune", "register_worker",
    "release_builds", "release_fires", "report_requests", "rescue", "resume", "resume_missed", "roll_up", "save_steps", "settle", "spawn_many", "step_values", "sweep_artifacts",
    "worker_key", "write_logs", "write_streams", "await_event", "reply_update", "open_link", "follow_link",
}  # fmt: skip
"""Called by plait's own processes, each in a transaction of its own."""

STOPS_EVERYTHING = {"after_restore"}
"""Before anything runs on a restored backup."""
