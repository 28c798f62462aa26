-- diagnose: findings without their evidence, for processes of the release before.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   nothing
create or replace function plait.diagnose() returns table (level text, code text, finding text, advice text)
language sql stable security definer set search_path = plait, pg_temp as $$
  select f.level, f.code, f.finding, f.advice from plait.findings() f
$$;
