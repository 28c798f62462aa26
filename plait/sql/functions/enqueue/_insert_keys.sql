-- _insert_keys: insert the keys of new jobs; return the jobs whose keys older jobs hold.
--
--   moves    nothing
--   locks    keys in sorted order, waiting at most p_wait_ms for an open transaction that holds the
--            same key
--   raises   PL006 for an idempotency key with another payload; PL016 if an open transaction still
--            holds the key, with the job's id as detail; lock_not_available (55P03) for a caller
--            whose lock_timeout is below a second: plait's own duties, which retry
--   called   enqueue_many, _spawn
--
-- Never DO UPDATE: a user's long transaction would then lock a row that has to be deleted when
-- another job ends.
create or replace function plait._insert_keys(
  p_now timestamptz, p_tenant uuid, p_ids uuid[], p_tenants uuid[], p_definitions text[],
  p_payloads text[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s float8[],
  p_wait_ms int default 5000
) returns table (requested uuid, existing uuid)
language plpgsql as $$
#variable_conflict use_column
declare
  r       record;
  v_held  plait.idempotency;
  v_hash  text;
  v_job   uuid;
  v_asked uuid[] := '{}';
  v_found uuid[] := '{}';
  v_kind  text := 'idempotency';
  v_was   text := plait._limit_lock_waits(p_wait_ms);
begin
  for r in
    select i.id, coalesce(p_tenant, i.tenant_id) as tenant_id, i.definition, i.payload,
           i.idempotency_key as key, i.ttl_s
    from unnest(
      p_ids, p_tenants, p_definitions, p_payloads, p_idempotency_keys, p_idempotency_ttls_s)
         i(id, tenant_id, definition, payload, idempotency_key, ttl_s)
    where i.idempotency_key is not null
    order by 2, 3, 5, i.id
  loop
    v_hash := plait._payload_hash(r.payload);
    loop
      delete from plait.idempotency
      where tenant_id = r.tenant_id and definition = r.definition and key = r.key
        and expires_at <= p_now;
      insert into plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at)
      values (
        r.tenant_id, r.definition, r.key, r.id, v_hash, p_now + make_interval(secs => r.ttl_s))
      on conflict do nothing;
      exit when found;
      select * into v_held
      from plait.idempotency
      where tenant_id = r.tenant_id and definition = r.definition and key = r.key;
      continue when not found;  -- deleted between the two statements: try again
      if v_held.payload_hash <> v_hash then
        raise exception 'idempotency key % was used with another payload', quote_literal(r.key)
          using errcode = 'PL006';
      end if;
      if v_held.job_id <> r.id then
        v_asked := v_asked || r.id;
        v_found := v_found || v_held.job_id;
        p_dedupe_keys :=
          (select array_agg(case when i.id = r.id then null else i.k end order by i.n)
           from unnest(p_ids, p_dedupe_keys) with ordinality i(id, k, n));
      end if;
      exit;
    end loop;
  end loop;

  v_kind := 'dedupe';
  for r in
    select i.id, coalesce(p_tenant, i.tenant_id) as tenant_id, i.dedupe_key as key
    from unnest(p_ids, p_tenants, p_dedupe_keys) i(id, tenant_id, dedupe_key)
    where i.dedupe_key is not null order by 2, 3, i.id
  loop
    loop
      -- A job that has already ended has released its key. If the job is sent again, its key must
      -- not be inserted again.
      exit when exists (select from plait.jobs where id = r.id);
      insert into plait.dedupe (tenant_id, key, job_id)
      values (r.tenant_id, r.key, r.id)
      on conflict do nothing;
      exit when found;
      select job_id into v_job from plait.dedupe where tenant_id = r.tenant_id and key = r.key;
      continue when not found;
      if v_job <> r.id then
        v_asked := v_asked || r.id;
        v_found := array_replace(v_found, r.id, v_job) || v_job;
        -- The idempotency key now belongs to the existing job, because this job is not created.
        update plait.idempotency set job_id = v_job where job_id = r.id;
      end if;
      exit;
    end loop;
  end loop;
  perform set_config('lock_timeout', v_was, true);
  return query select * from unnest(v_asked, v_found);
exception when lock_not_available then
  if v_was ~ '^\d{1,3}ms$' then
    raise;
  end if;
  raise exception 'another open transaction holds the % key %: commit or roll it back, then enqueue again',
    v_kind, quote_literal(r.key)
    using errcode = 'PL016', detail = r.id::text;
end $$;
