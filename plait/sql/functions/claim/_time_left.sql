-- _time_left: how long a claimed job may run: until its timeout or deadline, whichever is first.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   claim, _fetch_claimed, _fetch_claimed_alike
create or replace function plait._time_left(p_job uuid, p_definition text, p_timeout_s float8)
returns float8 language sql stable as $$
  select coalesce(
    (select least(
       coalesce(p_timeout_s,
                (select d.timeout_s from plait.definitions d where d.name = p_definition), 3600),
       greatest(0.001, extract(epoch from k.due_at - plait.now())))
     from plait.deadlines k
     where k.job_id = p_job and k.due_at is not null),
    p_timeout_s) $$;
