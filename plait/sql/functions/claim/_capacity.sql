-- _capacity: how many more jobs may start now within the limits of a definition and a limit key.
--
--   moves    nothing
--   locks    the same as _try_limit, for each limit (a locked limit counts as exhausted), held
--            until the transaction ends
--   raises   nothing
--   called   _claim_serial, _claim_side_lanes, _claim_suspects
--
-- The concurrency limit is counted from running rows, never from a counter, so a crash or a
-- cancellation cannot leak a slot. p_spend: how many starts to record against the rate limits.
create or replace function plait._capacity(
  p_definition text, p_tenant uuid, p_limit_key text, p_now timestamptz, p_spend int default 0
) returns int
language plpgsql as $$
declare
  d      plait.definitions;
  v_room int := 2147483647;
  v_name text := 'definition ' || p_definition;
  v_key  text := 'key ' || p_definition || ' ' || coalesce(p_tenant::text, '') || ' '
    || coalesce(p_limit_key, '');
begin
  select * into d from plait.definitions where name = p_definition;
  if not found then
    return v_room;
  end if;
  if d.max_running is not null or d.rate_count is not null then
    if not plait._try_limit(v_name) then
      return 0;
    end if;
    if d.max_running is not null and p_spend = 0 then
      v_room := least(v_room, d.max_running - (select count(*) from plait.live l
        where l.definition = p_definition and l.state = 'running' and l.lane <> ''));
    end if;
    if d.rate_count is not null then
      v_room := least(
        v_room, plait._rate_tokens(v_name, d.rate_count, d.rate_period_s, p_now, p_spend));
    end if;
  end if;
  if p_limit_key is not null
     and (d.key_max_running is not null or d.key_rate_count is not null) then
    if not plait._try_limit(v_key) then
      return 0;
    end if;
    if d.key_max_running is not null and p_spend = 0 then
      v_room := least(v_room,
                      d.key_max_running - (
                        select count(*)
                        from plait.live l
                        where l.definition = p_definition and l.tenant_id = p_tenant
                          and l.limit_key = p_limit_key and l.state = 'running' and l.lane <> ''));
    end if;
    if d.key_rate_count is not null then
      v_room := least(
        v_room, plait._rate_tokens(v_key, d.key_rate_count, d.key_rate_period_s, p_now, p_spend));
    end if;
  end if;
  return greatest(0, v_room);
end $$;
