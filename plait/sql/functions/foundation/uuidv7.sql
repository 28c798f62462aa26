-- uuidv7: a new id that sorts by time, for callers in SQL.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   by more than a dozen functions
--
--   select plait.uuidv7();
--
-- Uses the real clock, not plait.now(), because an id only identifies a row.
--
-- Postgres 18 and later have a built-in uuidv7. This definition works on all versions.
create or replace function plait.uuidv7() returns uuid
language sql volatile parallel safe
return encode(
  set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
                          -- clock: see above
                          placing substring(
                            int8send((extract(epoch from clock_timestamp())
                                        * 1000)::bigint) from 3) from 1 for 6),
                  52, 1),
          53, 1),
  'hex')::uuid;
