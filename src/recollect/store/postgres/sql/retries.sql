-- A job that was begun and failed comes before those that were never begun, once it is due again.
-- Behind them, it would wait for all of them.

DROP INDEX recollect.jobs_due;
CREATE INDEX jobs_next ON recollect.jobs ((attempts = 0), due_at, id) WHERE state IN ('waiting', 'running');

DO $$
DECLARE
  before text := pg_get_functiondef('recollect.lease_job(text, text[], float8, integer)'::regprocedure);
  after text := replace(before, E'    ORDER BY j.due_at, j.id LIMIT 1 FOR UPDATE SKIP LOCKED;\n  END IF;',
    E'    ORDER BY j.attempts = 0, j.due_at, j.id LIMIT 1 FOR UPDATE SKIP LOCKED;\n  END IF;');
BEGIN
  IF after = before THEN
    RAISE EXCEPTION 'lease_job() is not as it was';
  END IF;
  EXECUTE after;
END
$$;
