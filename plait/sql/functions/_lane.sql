-- _lane: the lane of a job that is not a suspect. A limited job waits apart, so that the claim can skip a full limit whole.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   by enqueue, settle and retry
create or replace function plait._lane(p_definition text, p_tenant uuid, p_limit_key text) returns text
language sql stable
return case
  when p_limit_key is not null then 'k:' || p_definition || ':' || p_tenant || ':' || p_limit_key
  when exists (select from plait.definitions d where d.name = p_definition
               and (d.max_running is not null or d.rate_count is not null)) then 'd:' || p_definition
  else '' end;
