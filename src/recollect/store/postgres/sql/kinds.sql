-- Kinds of events that came after the first revision. recollect.append() asks for them here, so that
-- the next ones need no new body of that function.

CREATE FUNCTION recollect.later_kinds() RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT ARRAY['frame.set', 'frame.dropped', 'context.handed']
$$;
REVOKE ALL ON FUNCTION recollect.later_kinds() FROM PUBLIC;

-- Two places of append() change: which kinds it lets in, and which of them claim trust. The rest of
-- it stays as the first revision made it.
DO $$
DECLARE
  before text := pg_get_functiondef('recollect.append(bytea[])'::regprocedure);
  let_in text := replace(
    before, 'NOT kind = ANY (kinds)', 'NOT kind = ANY (kinds || recollect.later_kinds())'
  );
  after text := replace(
    let_in, $r$'record.revised', 'link.added')$r$, $r$'record.revised', 'link.added', 'frame.set')$r$
  );
BEGIN
  IF before = let_in OR let_in = after THEN
    RAISE EXCEPTION 'append() is not as the first revision made it';
  END IF;
  EXECUTE after;
END
$$;
