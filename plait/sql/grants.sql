-- All grants: applied after every migration, by the owner. tests/access/grants.txt shows the
-- result.

revoke all on schema plait from public;
revoke all on all tables in schema plait
  from public, plait_client, plait_tenant, plait_worker, plait_admin;
revoke all on all sequences in schema plait
  from public, plait_client, plait_tenant, plait_worker, plait_admin;
revoke all on all functions in schema plait
  from public, plait_client, plait_tenant, plait_worker, plait_admin;
grant usage on schema plait to plait_client, plait_tenant, plait_worker, plait_admin;
-- Not `in schema plait`: default privileges for PUBLIC can only be revoked for the whole database.
alter default privileges revoke execute on functions from public;

-- Applications and tenants' logins read only through functions. SELECT on a table or a view also
-- allows EXPLAIN, whose estimates come from every tenant's statistics. plait_admin reads across
-- tenants anyway.
grant select on plait.jobs, plait.live, plait.attempts, plait.running_state, plait.dedupe,
  plait.idempotency, plait.search_values, plait.job, plait.fan_outs, plait.fan_out_order,
  plait.steps, plait.signals, plait.dependencies, plait.follow_ups, plait.deadlines, plait.triggers,
  plait.fires, plait.events, plait.endpoints, plait.connectors, plait.artifacts, plait.streams,
  plait.stream_items, plait.log_lines, plait.job_states, plait.event_waits, plait.update_replies
  to plait_admin;
grant select (id, slug, name, time_zone, created_at, paused) on plait.tenants to plait_admin;
grant select on plait.workers, plait.nodes, plait.leader, plait.queues, plait.definitions,
  plait.overrides
  to plait_admin;
grant select on plait.installed to plait_client, plait_tenant, plait_worker, plait_admin;

grant execute on function plait.now, plait.uuidv7, plait._visible_tenant, plait.tenant_id
  to plait_client, plait_tenant, plait_worker, plait_admin;

grant execute on function
  plait.enqueue, plait.enqueue_many, plait.enqueue_one, plait.cancel, plait.retry, plait.reschedule,
  plait.signal, plait.cancel_tree, plait.retry_tree, plait.fork, plait.list_steps,
  plait.job_history, plait.unread_signals, plait.job_info, plait.spawn, plait.after,
  plait.get_job, plait.get_outcomes, plait.list_jobs, plait.search_jobs, plait.list_fan_outs,
  plait.list_children, plait.fan_out_load, plait.fan_out_times, plait.earlier_runs, plait.overview,
  plait.failures, plait.failure_group, plait.failure_history, plait.failure_workers, plait.latency,
  plait.list_attempts, plait.list_logs,
  plait.job_times, plait.explain_job, plait.set_trigger, plait.delete_trigger, plait.list_triggers,
  plait.list_fires, plait.emit, plait.list_events, plait.job_nodes, plait.follow, plait.open_stream,
  plait.signal_or_start
  to plait_client, plait_tenant, plait_admin;

grant execute on function plait.register_artifact, plait.find_artifact
  to plait_client, plait_tenant, plait_worker, plait_admin;
grant execute on function
  plait.set_endpoint, plait.delete_endpoint, plait.rotate_endpoint, plait.set_connector
  to plait_client, plait_tenant, plait_admin;

-- Connectors read these for the jobs that they run.
grant execute on function
  plait.list_endpoints, plait.list_connectors, plait.analytics, plait.usage, plait.history,
  plait.job_tree
  to plait_client, plait_tenant, plait_worker, plait_admin;
grant execute on function plait.announce, plait.close_endpoint, plait.admit_requests,
  plait.report_requests
  to plait_worker;

grant execute on function plait.list_schemas
  to plait_client, plait_tenant, plait_worker, plait_admin;

grant execute on function
  plait.register_worker, plait.define, plait.definition_queues, plait.cycle, plait.settle,
  plait.claim, plait.heartbeat, plait.progress, plait.log_attempt, plait.worker_key, plait.leave,
  plait.elect, plait.promote, plait.rescue, plait.prune, plait.sweep_artifacts, plait.count_live,
  plait.count_failures, plait.roll_up, plait.open_fan_out, plait.await_steps, plait.save_steps,
  plait.drop_steps, plait.abandon_fan_outs, plait.resume_steps, plait.step_values, plait.gather,
  plait.continue_as_new, plait.resume, plait.resume_missed, plait.release_builds,
  plait.cancel_remaining, plait.spawn_many, plait.after_many, plait.open_nursery,
  plait.list_dependencies, plait.declare_triggers, plait.due_schedules, plait.fire,
  plait.release_fires, plait.pending_events, plait.dispatch,
  plait.drain, plait.open_nodes, plait.gather_nodes,
  plait.write_streams, plait.write_logs, plait.last_report, plait.await_event, plait.reply_update,
  plait.open_link
  to plait_worker;

grant execute on function plait.get_leader, plait.list_nodes
  to plait_client, plait_worker, plait_admin;

grant execute on function plait.claim_waits to plait_worker;
grant execute on function plait.metrics to plait_worker, plait_admin;

grant execute on function plait.has_pending_children, plait.has_failed_siblings
  to plait_client, plait_tenant, plait_worker, plait_admin;

grant execute on function
  plait.define, plait.define_unknown, plait.set_definition, plait.clear_overrides,
  plait.list_overrides, plait.set_queue, plait.await_claims, plait.set_tenant, plait.bind_login,
  plait.list_queues, plait.list_workers, plait.worker_history, plait.worker_jobs,
  plait.list_tenants, plait.tenant_load, plait.list_retention, plait.list_definitions,
  plait.findings, plait.examine, plait.claim_plan, plait.after_restore,
  plait.create_key, plait.list_keys, plait.list_key_descendants, plait.revoke_key,
  plait.authenticate, plait.open_session, plait.use_login_link, plait.close_session,
  plait.open_embed, plait.enter_embed, plait.authenticate_embed, plait.authenticate_stream,
  plait.find_link, plait.follow_link, plait.changes, plait.record_audit, plait.list_audit,
  plait.reserve_reply, plait.store_reply
  to plait_admin;
