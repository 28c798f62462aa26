-- _deadline_error: the error of a job that missed its deadline, in the form of a worker's detail.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _fail_past_deadlines, resume
create or replace function plait._deadline_error(p_deadline_s float8, p_permanent boolean)
returns json language sql immutable as $$
  select json_build_object(
    'error', e, 'reason', 'deadline', 'permanent', p_permanent,
    'failure', json_build_object('type', 'TimeoutError', 'message', e))
  from (select format('it did not end within its deadline of %s s', p_deadline_s) as e) x
$$;
