-- Checkpoints: signed notes, each under its number of events, and where the next one continues. The server
-- cannot check a signature, and needs not: a note counts for a client only if a key signed it that the client
-- trusts. It checks what it can, so that nothing else gathers here: who brings a note, and that the note
-- speaks of this ledger and of events that are there (decision 49).

CREATE TABLE recollect.checkpoints (
  space bigint NOT NULL,
  size bigint NOT NULL,
  note bytea NOT NULL,
  PRIMARY KEY (space, size)
);

-- The roots of the full subtrees at the last checkpoint: one row for each space, which may be missing.
CREATE TABLE recollect.frontiers (
  space bigint PRIMARY KEY,
  data bytea NOT NULL
);

-- Neither holds any content, so a token for one user may read them.
ALTER TABLE recollect.checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE recollect.checkpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY entered ON recollect.checkpoints
  USING (space = (SELECT recollect.here())) WITH CHECK (space = (SELECT recollect.here()));
ALTER TABLE recollect.frontiers ENABLE ROW LEVEL SECURITY;
ALTER TABLE recollect.frontiers FORCE ROW LEVEL SECURITY;
CREATE POLICY entered ON recollect.frontiers
  USING (space = (SELECT recollect.here())) WITH CHECK (space = (SELECT recollect.here()));

-- The entered space, for a person's token that writes in all of it. A note may take the place of another
-- one of its size, and a checkpoint is about everybody's events.
CREATE FUNCTION recollect.here_to_sign() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF recollect.require('write') <> 'person' OR current_setting('recollect.user', true) <> ''
    OR current_setting('recollect.agent', true) <> '' THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN recollect.here();
END
$$;

CREATE FUNCTION recollect.keep_checkpoint(events bigint, signed bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here_to_sign();
  last bigint;
  first text; -- the hash of the first event, from which the ledger has its name
  front bytea;
BEGIN
  SELECT s.seq INTO last FROM recollect.spaces s WHERE s.id = place;
  SELECT left(right(encode(e.header, 'escape'), 65), 64) INTO first
  FROM recollect.events e WHERE e.space = place AND e.seq = 1;
  front := convert_to(
    'recollect/' || left(first, 32) || chr(10) || events || chr(10), 'UTF8'
  );
  IF coalesce(
    events NOT BETWEEN 1 AND last OR length(signed) NOT BETWEEN length(front) + 46 AND 1048576
    OR substring(signed FROM 1 FOR length(front)) <> front, true
  ) THEN
    RAISE EXCEPTION 'not a checkpoint of this ledger'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  INSERT INTO recollect.checkpoints VALUES (place, events, signed)
  ON CONFLICT (space, size) DO UPDATE SET note = EXCLUDED.note;
END
$$;

CREATE FUNCTION recollect.keep_frontier(tree bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here_to_sign();
BEGIN
  IF coalesce(length(tree) > 65536, true) THEN
    RAISE EXCEPTION 'not a frontier' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  INSERT INTO recollect.frontiers VALUES (place, tree)
  ON CONFLICT (space) DO UPDATE SET data = EXCLUDED.data;
END
$$;

REVOKE ALL ON recollect.checkpoints, recollect.frontiers FROM PUBLIC;
REVOKE ALL ON FUNCTION recollect.here_to_sign(), recollect.keep_checkpoint(bigint, bytea),
  recollect.keep_frontier(bytea) FROM PUBLIC;
GRANT SELECT ON recollect.checkpoints, recollect.frontiers TO recollect_app;
GRANT EXECUTE ON FUNCTION recollect.keep_checkpoint(bigint, bytea), recollect.keep_frontier(bytea)
  TO recollect_app;
