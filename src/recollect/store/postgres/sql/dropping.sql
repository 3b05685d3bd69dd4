-- A space can be dropped whole: every row of it goes, and a note stays (decision 27).

-- The notes. No event is deleted unless its space has one; a note is never changed.
CREATE TABLE recollect.dropped (
  id bigint PRIMARY KEY, -- of the space; numbers are not used again
  name text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  who text NOT NULL, -- the token and the login
  seq bigint NOT NULL, -- the last event
  hash text COLLATE "C" NOT NULL,
  first text COLLATE "C", -- the hash of the first event
  reason text
);

CREATE FUNCTION recollect.keep_notes() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'notes are only ever added' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER keep_notes BEFORE UPDATE OR DELETE ON recollect.dropped
FOR EACH ROW EXECUTE FUNCTION recollect.keep_notes();
CREATE TRIGGER keep_all_notes BEFORE TRUNCATE ON recollect.dropped
FOR EACH STATEMENT EXECUTE FUNCTION recollect.keep_notes();

CREATE OR REPLACE FUNCTION recollect.keep_events() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.space = OLD.space AND NEW.seq = OLD.seq
    AND NEW.header = OLD.header
    AND encode(NEW.body, 'escape') ~ '^,"erased":"[0-9]+"[}]$' THEN
    RETURN NEW;
  END IF;
  IF TG_OP = 'DELETE' AND EXISTS (SELECT 1 FROM recollect.dropped d WHERE d.id = OLD.space) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'events are only ever added' USING ERRCODE = 'integrity_constraint_violation';
END
$$;

-- A token of a dropped space stays, revoked, with the number of the space it was for.
ALTER TABLE recollect.tokens DROP CONSTRAINT tokens_space_fkey;

-- Two places of enter() change. A transaction that did not say that it writes holds no lock on its
-- space, so it may not write: a row that it added while the space is dropped would stay. And a writer
-- that waited for a drop finds nothing.
DO $$
DECLARE
  before text := pg_get_functiondef('recollect.enter(text, text, boolean)'::regprocedure);
  locked text := replace(before, E'    WHERE s.id = space FOR UPDATE;\n',
$r$    WHERE s.id = space FOR UPDATE;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'no such space' USING ERRCODE = 'insufficient_privilege';
    END IF;
$r$);
  after text := replace(locked, E'array_to_string(verbs, '','')',
    E'CASE WHEN writing THEN array_to_string(verbs, '','') ELSE ''read'' END');
BEGIN
  IF locked = before OR after = locked THEN
    RAISE EXCEPTION 'enter() is not as it was';
  END IF;
  EXECUTE after;
END
$$;

-- Drops the space that was entered to write. Which tables hold rows of spaces is asked of the
-- catalogue, so that none can be forgotten.
CREATE FUNCTION recollect.drop_space(
  why text, OUT name text, OUT at text, OUT who text, OUT seq bigint, OUT hash text, OUT first text,
  OUT tables integer, OUT revoked integer
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  ceiling text := recollect.require('drop');
  dropping bigint := recollect.here();
  relation regclass;
BEGIN
  IF ceiling <> 'person' OR current_setting('recollect.user', true) <> ''
    OR current_setting('recollect.agent', true) <> '' THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  SELECT s.name, s.seq, s.hash INTO name, seq, hash
  FROM recollect.spaces s WHERE s.id = dropping FOR UPDATE;
  SELECT left(right(encode(e.header, 'escape'), 65), 64) INTO first
  FROM recollect.events e WHERE e.space = dropping AND e.seq = 1;
  SELECT format('%s (token %s, login %s)', t.label, t.id, session_user) INTO who
  FROM recollect.tokens t WHERE t.id = current_setting('recollect.token', true)::bigint;
  at := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
  INSERT INTO recollect.dropped VALUES (dropping, name, at, who, seq, hash, first, why);
  tables := 0;
  FOR relation IN
    SELECT c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p')
      AND a.attname = 'space' AND NOT a.attisdropped AND c.relname <> 'tokens'
  LOOP
    EXECUTE format('DELETE FROM %s WHERE space = $1', relation) USING dropping;
    tables := tables + 1;
  END LOOP;
  DELETE FROM recollect.spaces s WHERE s.id = dropping;
  UPDATE recollect.tokens t SET revoked = now() WHERE t.space = dropping AND t.revoked IS NULL;
  GET DIAGNOSTICS revoked = ROW_COUNT;
END
$$;

-- The notes, for a token that opens every space: it could see the names before.
CREATE FUNCTION recollect.dropped_of(token text) RETURNS SETOF recollect.dropped
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT d.* FROM recollect.dropped d
  WHERE EXISTS (
    SELECT 1 FROM recollect.tokens t
    WHERE t.hash = sha256(convert_to(token, 'UTF8')) AND t.every_space AND t."user" IS NULL
      AND t.revoked IS NULL AND (t.expires IS NULL OR t.expires > clock_timestamp())
  )
  ORDER BY d.at, d.id
$$;

REVOKE ALL ON recollect.dropped FROM PUBLIC;
REVOKE ALL ON FUNCTION recollect.keep_notes(), recollect.drop_space(text),
  recollect.dropped_of(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.drop_space(text), recollect.dropped_of(text) TO recollect_app;
