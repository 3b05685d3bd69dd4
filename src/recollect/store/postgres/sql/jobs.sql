-- Background work (decision 64): passes that were asked for, leases of workers, schedules. SQLite has the same in
-- index/sql/jobs.sql. The service's role reads and writes neither table: each function takes the token of its
-- caller, which must be for a whole space. No token is stored: a worker uses its own, and takes a job only if that
-- allows what the asker was allowed. A running job is due again when its lease ends.

CREATE TABLE recollect.jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  space bigint NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind ~ '^[a-z_]{1,40}$'),
  params text COLLATE "C" NOT NULL CHECK (length(params) <= 2000),
  state text NOT NULL DEFAULT 'waiting'
    CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
  asked_by bigint,
  origin text NOT NULL CHECK (origin IN ('person', 'agent', 'unverified')),
  asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  due_at timestamptz NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  done bigint NOT NULL DEFAULT 0,
  total bigint NOT NULL DEFAULT 0,
  error text CHECK (length(error) <= 200)
);
CREATE UNIQUE INDEX jobs_waiting ON recollect.jobs (space, kind, params) WHERE state = 'waiting';
CREATE UNIQUE INDEX jobs_running ON recollect.jobs (space, kind, params) WHERE state = 'running';
CREATE INDEX jobs_due ON recollect.jobs (due_at, id) WHERE state IN ('waiting', 'running');
CREATE INDEX jobs_ended ON recollect.jobs (space, kind, id)
  WHERE state IN ('done', 'failed', 'cancelled');

CREATE TABLE recollect.schedules (
  space bigint NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind ~ '^[a-z_]{1,40}$'),
  params text COLLATE "C" NOT NULL CHECK (length(params) <= 2000),
  cron text CHECK (length(cron) <= 200),
  every_s bigint CHECK (every_s > 0),
  set_by bigint,
  next_at timestamptz NOT NULL,
  PRIMARY KEY (space, kind)
);

-- Nobody but the owner, whose functions these are, sees a row, whatever is granted.
ALTER TABLE recollect.jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE recollect.schedules ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION recollect.as_instant(moment timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

CREATE FUNCTION recollect.trust_rank(origin text) RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT array_position(ARRAY['unverified', 'agent', 'person'], origin)
$$;

CREATE VIEW recollect.shown_jobs AS
SELECT j.id, s.name AS space, j.kind, j.params, j.state, j.asked_by, j.origin,
  recollect.as_instant(j.asked_at) AS asked_at, recollect.as_instant(j.due_at) AS due_at,
  j.attempts, j.done, j.total, j.error
FROM recollect.jobs j JOIN recollect.spaces s ON s.id = j.space;

CREATE VIEW recollect.shown_schedules AS
SELECT s.name AS space, c.kind, c.params, c.cron, c.every_s, c.set_by,
  recollect.as_instant(c.next_at) AS next_at
FROM recollect.schedules c JOIN recollect.spaces s ON s.id = c.space;

-- The token of a caller that may do this in whole spaces.
CREATE FUNCTION recollect.job_token(token text, verb text) RETURNS recollect.tokens
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens;
BEGIN
  SELECT * INTO mine FROM recollect.tokens t
  WHERE t.hash = sha256(convert_to(token, 'UTF8')) AND recollect.is_live(t.revoked, t.expires)
    AND t."user" IS NULL AND t.agent IS NULL AND verb = ANY (t.verbs);
  IF NOT FOUND THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN mine;
END
$$;

-- A space that the token opens. Not yours and not there answer alike.
CREATE FUNCTION recollect.job_space(mine recollect.tokens, named text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint;
BEGIN
  SELECT s.id INTO place FROM recollect.spaces s
  WHERE s.name = named AND (mine.every_space OR s.id = mine.space);
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such space' USING ERRCODE = 'no_data_found';
  END IF;
  RETURN place;
END
$$;

-- Adds a job, unless the same one waits; the asker with the higher trust counts.
CREATE FUNCTION recollect.put_job(
  place bigint, what text, told text, due timestamptz, asker bigint, ceiling text
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  made bigint;
BEGIN
  INSERT INTO recollect.jobs AS j (space, kind, params, asked_by, origin, due_at)
  VALUES (place, what, told, asker, ceiling, coalesce(due, clock_timestamp()))
  ON CONFLICT (space, kind, params) WHERE state = 'waiting' DO UPDATE SET
    due_at = least(j.due_at, EXCLUDED.due_at),
    asked_by = CASE WHEN recollect.trust_rank(EXCLUDED.origin) > recollect.trust_rank(j.origin)
      THEN EXCLUDED.asked_by ELSE j.asked_by END,
    origin = CASE WHEN recollect.trust_rank(EXCLUDED.origin) > recollect.trust_rank(j.origin)
      THEN EXCLUDED.origin ELSE j.origin END
  RETURNING j.id INTO made;
  RETURN made;
END
$$;

CREATE FUNCTION recollect.ask_job(
  token text, named text, what text, told text, due timestamptz, ceiling text, most integer
) RETURNS SETOF recollect.shown_jobs
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.job_token(
    token, CASE what WHEN 'retain' THEN 'erase' ELSE 'write' END
  );
  place bigint := recollect.job_space(mine, named);
  made bigint;
BEGIN
  IF recollect.trust_rank(mine.origin) < recollect.trust_rank(ceiling) THEN
    ceiling := mine.origin;
  END IF;
  made := recollect.put_job(place, what, told, due, mine.id, ceiling);
  IF (SELECT count(*) FROM recollect.jobs j WHERE j.space = place AND j.state = 'waiting') > most THEN
    RAISE EXCEPTION 'too many jobs wait' USING ERRCODE = 'program_limit_exceeded';
  END IF;
  RETURN QUERY SELECT v.* FROM recollect.shown_jobs v WHERE v.id = made;
END
$$;

-- The job that is due for the longest time and that this token allows, for so many seconds.
CREATE FUNCTION recollect.lease_job(token text, kinds text[], seconds float8, most integer)
RETURNS SETOF recollect.shown_jobs
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.job_token(token, 'write');
  found_id bigint;
BEGIN
  UPDATE recollect.jobs j SET state = 'failed', error = 'gave_up'
  WHERE j.state = 'running' AND j.due_at <= clock_timestamp() AND j.attempts >= most
    AND (mine.every_space OR j.space = mine.space);
  SELECT j.id INTO found_id FROM recollect.jobs j
  WHERE j.state = 'running' AND j.due_at <= clock_timestamp()
    AND j.kind = ANY (kinds) AND (mine.every_space OR j.space = mine.space)
    AND recollect.trust_rank(j.origin) <= recollect.trust_rank(mine.origin)
    AND (j.kind <> 'retain' OR 'erase' = ANY (mine.verbs))
  ORDER BY j.due_at, j.id LIMIT 1 FOR UPDATE SKIP LOCKED; -- what was begun comes first
  IF NOT FOUND THEN
    SELECT j.id INTO found_id FROM recollect.jobs j
    WHERE j.state = 'waiting' AND j.due_at <= clock_timestamp()
      AND j.kind = ANY (kinds) AND (mine.every_space OR j.space = mine.space)
      AND recollect.trust_rank(j.origin) <= recollect.trust_rank(mine.origin)
      AND (j.kind <> 'retain' OR 'erase' = ANY (mine.verbs))
      AND NOT EXISTS (
        SELECT 1 FROM recollect.jobs r WHERE r.state = 'running' AND r.id <> j.id
          AND r.space = j.space AND r.kind = j.kind AND r.params = j.params
      )
    ORDER BY j.due_at, j.id LIMIT 1 FOR UPDATE SKIP LOCKED;
  END IF;
  UPDATE recollect.jobs j SET state = 'running', attempts = j.attempts + 1, done = 0, total = 0,
    due_at = clock_timestamp() + make_interval(secs => least(seconds, 86400))
  WHERE j.id = found_id;
  RETURN QUERY SELECT v.* FROM recollect.shown_jobs v WHERE v.id = found_id;
EXCEPTION WHEN unique_violation THEN
  RETURN; -- another worker has just begun the same
END
$$;

-- What a worker tells: it works still, has ended, has failed, or wants to try again later. False if its lease ended.
CREATE FUNCTION recollect.report_job(
  token text, which bigint, attempt integer, becomes text, seconds float8, part bigint, whole bigint,
  code text, kept integer
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.job_token(token, 'write');
  job recollect.jobs;
BEGIN
  SELECT * INTO job FROM recollect.jobs j
  WHERE j.id = which AND j.attempts = attempt AND j.state = 'running'
    AND j.due_at > clock_timestamp() AND (mine.every_space OR j.space = mine.space) FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  BEGIN
    UPDATE recollect.jobs j SET state = becomes, error = code, done = greatest(j.done, part),
      total = greatest(j.total, whole),
      due_at = clock_timestamp() + make_interval(secs => least(seconds, 86400))
    WHERE j.id = which;
  EXCEPTION WHEN unique_violation THEN -- another one waits, which will do the same
    UPDATE recollect.jobs j SET state = 'failed', error = code WHERE j.id = which;
  END;
  IF becomes <> 'running' THEN
    DELETE FROM recollect.jobs j WHERE j.space = job.space AND j.kind = job.kind
      AND j.state IN ('done', 'failed', 'cancelled') AND j.id NOT IN (
        SELECT k.id FROM recollect.jobs k WHERE k.space = job.space AND k.kind = job.kind
          AND k.state IN ('done', 'failed', 'cancelled') ORDER BY k.id DESC LIMIT kept
      );
  END IF;
  RETURN true;
END
$$;

CREATE FUNCTION recollect.jobs_for(token text, named text, which bigint, wanted text, most bigint)
RETURNS SETOF recollect.shown_jobs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.job_token(token, 'read');
  place bigint := CASE WHEN named IS NULL THEN mine.space ELSE recollect.job_space(mine, named) END;
BEGIN
  RETURN QUERY SELECT v.* FROM recollect.shown_jobs v JOIN recollect.jobs j ON j.id = v.id
  WHERE (place IS NULL OR j.space = place) AND (which IS NULL OR j.id = which)
    AND (wanted IS NULL OR j.state = wanted) ORDER BY j.id DESC LIMIT most;
END
$$;

CREATE FUNCTION recollect.cancel_job(token text, named text, which bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.job_token(token, 'write');
  place bigint := CASE WHEN named IS NULL THEN mine.space ELSE recollect.job_space(mine, named) END;
BEGIN
  UPDATE recollect.jobs j SET state = 'cancelled'
  WHERE j.id = which AND j.state IN ('waiting', 'running') AND (place IS NULL OR j.space = place);
  RETURN FOUND;
END
$$;

-- The token of a person: only people set schedules, and only a person's worker acts on them.
CREATE FUNCTION recollect.schedule_token(token text, what text) RETURNS recollect.tokens
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.job_token(
    token, CASE what WHEN 'retain' THEN 'erase' ELSE 'write' END
  );
BEGIN
  IF mine.origin <> 'person' THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN mine;
END
$$;

CREATE FUNCTION recollect.set_schedule(
  token text, named text, what text, told text, times text, every bigint, first timestamptz
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.schedule_token(token, what);
BEGIN
  INSERT INTO recollect.schedules AS c VALUES (
    recollect.job_space(mine, named), what, told, times, every, mine.id, first
  )
  ON CONFLICT (space, kind) DO UPDATE SET params = EXCLUDED.params, cron = EXCLUDED.cron,
    every_s = EXCLUDED.every_s, set_by = EXCLUDED.set_by, next_at = EXCLUDED.next_at;
END
$$;

CREATE FUNCTION recollect.schedules_for(token text, named text, due boolean)
RETURNS SETOF recollect.shown_schedules
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.job_token(token, 'read');
  place bigint := CASE WHEN named IS NULL THEN mine.space ELSE recollect.job_space(mine, named) END;
BEGIN
  RETURN QUERY SELECT v.* FROM recollect.shown_schedules v
  WHERE (v.space, v.kind) IN (
    SELECT s.name, c.kind FROM recollect.schedules c JOIN recollect.spaces s ON s.id = c.space
    WHERE (place IS NULL OR c.space = place) AND (NOT due OR c.next_at <= clock_timestamp())
  ) ORDER BY v.space, v.kind;
END
$$;

CREATE FUNCTION recollect.drop_schedule(token text, named text, what text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.schedule_token(token, 'verify');
BEGIN
  DELETE FROM recollect.schedules c
  WHERE c.space = recollect.job_space(mine, named) AND c.kind = what;
  RETURN FOUND;
END
$$;

-- Asks for what a schedule says, once for each time, and sets the next time.
CREATE FUNCTION recollect.fire_schedule(
  token text, named text, what text, was timestamptz, next timestamptz
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.schedule_token(token, what);
  plan recollect.schedules;
BEGIN
  UPDATE recollect.schedules c SET next_at = next
  WHERE c.space = recollect.job_space(mine, named) AND c.kind = what AND c.next_at = was
    AND c.next_at <= clock_timestamp() RETURNING * INTO plan;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM recollect.put_job(plan.space, plan.kind, plan.params, NULL, plan.set_by, 'person');
  RETURN true;
END
$$;

REVOKE ALL ON recollect.jobs, recollect.schedules, recollect.shown_jobs, recollect.shown_schedules FROM PUBLIC;
DO $$
DECLARE
  made regprocedure;
BEGIN
  FOR made IN
    SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'recollect'::regnamespace
      AND p.proname IN ('as_instant', 'trust_rank', 'job_token', 'job_space', 'put_job', 'ask_job', 'lease_job',
        'report_job', 'jobs_for', 'cancel_job', 'schedule_token', 'set_schedule', 'schedules_for',
        'drop_schedule', 'fire_schedule')
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', made);
  END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION
  recollect.ask_job(text, text, text, text, timestamptz, text, integer),
  recollect.lease_job(text, text[], float8, integer),
  recollect.report_job(text, bigint, integer, text, float8, bigint, bigint, text, integer),
  recollect.jobs_for(text, text, bigint, text, bigint), recollect.cancel_job(text, text, bigint),
  recollect.set_schedule(text, text, text, text, text, bigint, timestamptz),
  recollect.schedules_for(text, text, boolean), recollect.drop_schedule(text, text, text),
  recollect.fire_schedule(text, text, text, timestamptz, timestamptz)
  TO recollect_app;
