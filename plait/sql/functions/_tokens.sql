-- _tokens: how many tokens a rate limit's bucket holds now; p_spend takes some.
--
--   moves    nothing
--   locks    nothing: the caller holds the limit's try-lock
--   raises   nothing
--   called   _room, _claim
create or replace function plait._tokens(p_name text, p_count int, p_period_s float8, p_now timestamptz, p_spend int default 0) returns int
language plpgsql as $$
declare v_tokens float8;
begin
  select least(p_count, tokens + greatest(0, extract(epoch from p_now - at)) * p_count / p_period_s) into v_tokens
    from plait.buckets where name = p_name;
  v_tokens := coalesce(v_tokens, p_count) - p_spend;
  if p_spend > 0 then
    insert into plait.buckets (name, tokens, at, full_at)
    values (p_name, v_tokens, p_now, p_now + make_interval(secs => (p_count - v_tokens) * p_period_s / p_count))
    on conflict (name) do update set tokens = excluded.tokens, at = excluded.at, full_at = excluded.full_at;
  end if;
  return floor(v_tokens + 1e-9)::int;
end $$;
