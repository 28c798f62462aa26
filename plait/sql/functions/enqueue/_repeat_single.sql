-- _repeat_single: repeat the only element of an array for all jobs of a batch.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   enqueue_many, _insert_jobs, _spawn
create or replace function plait._repeat_single(p_values anyarray, p_count int) returns anyarray
language sql immutable as $$
  select case when cardinality(p_values) = 1 and p_count > 1 then
                array_fill(p_values[1], array[p_count])
              else p_values end $$;
