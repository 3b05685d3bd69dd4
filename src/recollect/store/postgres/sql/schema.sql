-- What must be kept, and caches of what is made of it (decision 77). The index is SQLite, in the process that
-- answers; the server knows nothing of it. Whoever logs in is the operator: tokens are checked by the process
-- that gives answers, not here.

CREATE SCHEMA IF NOT EXISTS recollect;

CREATE TABLE recollect.revision (revision text NOT NULL);

CREATE TABLE recollect.spaces (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  seq bigint NOT NULL DEFAULT 0,                       -- the last event
  hash text COLLATE "C" NOT NULL DEFAULT repeat('0', 64),
  at text COLLATE "C" NOT NULL DEFAULT '0000-00-00T00:00:00.000000Z',
  size bigint NOT NULL DEFAULT 0,                      -- of the ledger, in bytes
  epoch bigint NOT NULL DEFAULT 0,                     -- how many appends erased something
  blocks bigint NOT NULL DEFAULT 0                     -- how often its blocks of vectors changed
) WITH (fillfactor = 70); -- so that a new head needs no new entry in an index

CREATE TABLE recollect.events (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  line bytea NOT NULL, -- without its newline
  PRIMARY KEY (space, seq)
);

-- What stays of a space that was dropped.
CREATE TABLE recollect.dropped (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  space text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  by text NOT NULL,
  seq bigint,
  head text,
  first text,
  reason text
);

CREATE TABLE recollect.tokens (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  label text COLLATE "C" NOT NULL,
  space text COLLATE "C", -- null: every space
  verbs text[] NOT NULL,
  origin text NOT NULL,
  "user" text COLLATE "C",
  agent text COLLATE "C",
  made timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires timestamptz,
  revoked timestamptz,
  by bigint -- the token that created or rotated it; null: the owner
);
CREATE INDEX tokens_by_space ON recollect.tokens (space);

CREATE TABLE recollect.checkpoints (
  space bigint NOT NULL,
  size bigint NOT NULL, -- 0: where the next checkpoint continues
  note bytea NOT NULL,
  PRIMARY KEY (space, size)
);

-- Keys of subjects, wrapped by a master key that the server never sees (decision 55).
CREATE TABLE recollect.subject_keys (
  space bigint NOT NULL,
  pseudonym text COLLATE "C" NOT NULL,
  cipher integer NOT NULL,  -- the version of the key
  tag bytea NOT NULL,       -- equal for equal names of users; made with the master key
  key bytea NOT NULL,       -- wrapped
  name bytea NOT NULL,      -- of the user, wrapped
  made text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, pseudonym)
);
CREATE INDEX subject_keys_by_tag ON recollect.subject_keys (space, tag);

CREATE TABLE recollect.destroyed_keys (
  space bigint NOT NULL,
  pseudonym text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  by bigint NOT NULL, -- the event that ordered it; 0 if nothing was encrypted with it
  PRIMARY KEY (space, pseudonym)
);

-- Caches: an index as it was at an event, and blocks of vectors. Each is made at an epoch of its space, and
-- one of an earlier epoch is not accepted: it may hold what was erased since.
CREATE TABLE recollect.snapshots (
  space bigint NOT NULL,
  version text COLLATE "C" NOT NULL, -- of the index; other releases keep their own
  seq bigint NOT NULL,
  image bytea NOT NULL,
  PRIMARY KEY (space, version)
);
ALTER TABLE recollect.snapshots ALTER COLUMN image SET STORAGE EXTERNAL; -- it is compressed already

CREATE TABLE recollect.blocks (
  space bigint NOT NULL,
  embedder text COLLATE "C" NOT NULL, -- with its dimensions
  after bigint NOT NULL,
  through bigint NOT NULL,
  rows bytea NOT NULL,
  PRIMARY KEY (space, embedder, after)
);
ALTER TABLE recollect.blocks ALTER COLUMN rows SET STORAGE EXTERNAL;

-- Appends whole lines if the ledger still ends where the writer thinks. False if another writer came before,
-- or the space was dropped. An append that erases raises the epoch, removes the caches that hold what it
-- erases, and destroys the keys that it names.
CREATE FUNCTION recollect.append(
  place bigint, head bigint, headed text, lines bytea[], hashed text, dated text,
  targets bigint[], subjects text[]
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  erases boolean := targets IS NOT NULL;
  count integer := cardinality(lines);
BEGIN
  IF dated COLLATE "C" > to_char(
    clock_timestamp() AT TIME ZONE 'UTC' + interval '5 minutes', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
  ) THEN
    RAISE EXCEPTION 'an event is dated ahead of this clock' USING ERRCODE = 'datetime_field_overflow';
  END IF;
  UPDATE recollect.spaces s SET
    seq = head + count, hash = hashed, at = dated,
    size = s.size + (SELECT sum(length(l) + 1) FROM unnest(lines) l),
    epoch = s.epoch + erases::integer,
    blocks = s.blocks + erases::integer
  WHERE s.id = place AND s.seq = head AND s.hash = headed;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO recollect.events (space, seq, line)
  SELECT place, head + n, line FROM unnest(lines) WITH ORDINALITY u (line, n);
  IF erases THEN
    DELETE FROM recollect.snapshots c WHERE c.space = place;
    DELETE FROM recollect.blocks b USING unnest(targets) t
    WHERE b.space = place AND t > b.after AND t <= b.through;
    INSERT INTO recollect.destroyed_keys
    SELECT place, s, dated, head + count FROM unnest(subjects) s
    ON CONFLICT (space, pseudonym) DO NOTHING;
    DELETE FROM recollect.subject_keys k WHERE k.space = place AND k.pseudonym = ANY (subjects);
  END IF;
  RETURN true;
END
$$;

-- What is encrypted for one person must not lie here in the clear, so such a space has no caches.
CREATE FUNCTION recollect.has_keys(place bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT 1 FROM recollect.subject_keys k WHERE k.space = place)
$$;

-- Keeps an index, if nothing was erased since it was made.
CREATE FUNCTION recollect.keep_snapshot(
  place bigint, at_epoch bigint, made_by text, folded bigint, data bytea
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM 1 FROM recollect.spaces s WHERE s.id = place AND s.epoch = at_epoch FOR SHARE;
  IF NOT FOUND OR recollect.has_keys(place) THEN
    RETURN false;
  END IF;
  INSERT INTO recollect.snapshots AS c (space, version, seq, image)
  VALUES (place, made_by, folded, data)
  ON CONFLICT (space, version) DO UPDATE SET seq = EXCLUDED.seq, image = EXCLUDED.image
    WHERE c.seq < EXCLUDED.seq;
  RETURN true;
END
$$;

-- Keeps the vectors of the texts after one event, up to another, if nothing was erased since they were made.
CREATE FUNCTION recollect.keep_block(
  place bigint, at_epoch bigint, made_by text, since bigint, till bigint, data bytea
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE recollect.spaces s SET blocks = s.blocks + 1
  WHERE s.id = place AND s.epoch = at_epoch AND NOT recollect.has_keys(place);
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO recollect.blocks (space, embedder, after, through, rows)
  VALUES (place, made_by, since, till, data)
  ON CONFLICT (space, embedder, after) DO NOTHING;
  RETURN true;
END
$$;

-- Against our own mistakes: an event is only ever added, or loses its body to an erasure.
CREATE FUNCTION recollect.keep_events() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  cut integer; -- where the hash begins; after it comes the body
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF current_setting('recollect.dropping', true) = OLD.space::text THEN
      RETURN OLD;
    END IF;
  ELSIF TG_OP = 'UPDATE' THEN
    cut := position(',"hash":"'::bytea IN OLD.line) + 73;
    IF NEW.space = OLD.space AND NEW.seq = OLD.seq
      AND substring(NEW.line FROM 1 FOR cut) = substring(OLD.line FROM 1 FOR cut)
      AND encode(substring(NEW.line FROM cut + 1), 'escape') ~ '^,"erased":"[0-9]+"[}]$' THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'events are only ever added' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER keep_events BEFORE UPDATE OR DELETE ON recollect.events
FOR EACH ROW EXECUTE FUNCTION recollect.keep_events();
CREATE TRIGGER keep_all_events BEFORE TRUNCATE ON recollect.events
FOR EACH STATEMENT EXECUTE FUNCTION recollect.keep_events();

-- Empties a ledger that has one event, this one: another ledger comes in its place.
CREATE FUNCTION recollect.restart(place bigint, headed text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE recollect.spaces s SET seq = 0, hash = repeat('0', 64), size = 0,
    at = '0000-00-00T00:00:00.000000Z', epoch = s.epoch + 1
  WHERE s.id = place AND s.seq = 1 AND s.hash = headed;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM set_config('recollect.dropping', place::text, true);
  DELETE FROM recollect.events e WHERE e.space = place;
  PERFORM set_config('recollect.dropping', '', true);
  RETURN true;
END
$$;

-- Drops a space whole; a note stays. False if it is gone already.
CREATE FUNCTION recollect.drop_space(
  place bigint, dated text, who text, first_hash text, why text
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone recollect.spaces;
BEGIN
  DELETE FROM recollect.spaces s WHERE s.id = place RETURNING * INTO gone;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO recollect.dropped (space, at, by, seq, head, first, reason)
  VALUES (gone.name, dated, who, gone.seq, gone.hash, first_hash, why);
  PERFORM set_config('recollect.dropping', place::text, true);
  DELETE FROM recollect.events e WHERE e.space = place;
  PERFORM set_config('recollect.dropping', '', true);
  DELETE FROM recollect.checkpoints c WHERE c.space = place;
  DELETE FROM recollect.subject_keys k WHERE k.space = place;
  DELETE FROM recollect.destroyed_keys k WHERE k.space = place;
  DELETE FROM recollect.snapshots c WHERE c.space = place;
  DELETE FROM recollect.blocks b WHERE b.space = place;
  DELETE FROM recollect.jobs j WHERE j.space = gone.name;
  DELETE FROM recollect.schedules j WHERE j.space = gone.name;
  UPDATE recollect.tokens t SET revoked = clock_timestamp()
  WHERE t.space = gone.name AND t.revoked IS NULL;
  RETURN true;
END
$$;
