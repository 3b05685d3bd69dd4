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
CREATE INDEX tokens_by_label ON recollect.tokens (label);

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
  encrypted boolean NOT NULL, -- with the key of the space's caches
  PRIMARY KEY (space, version)
);
ALTER TABLE recollect.snapshots ALTER COLUMN image SET STORAGE EXTERNAL; -- it is compressed already

CREATE TABLE recollect.blocks (
  space bigint NOT NULL,
  embedder text COLLATE "C" NOT NULL, -- with its dimensions
  after bigint NOT NULL,
  through bigint NOT NULL,
  rows bytea NOT NULL,
  encrypted boolean NOT NULL,
  PRIMARY KEY (space, embedder, after)
);
ALTER TABLE recollect.blocks ALTER COLUMN rows SET STORAGE EXTERNAL;

-- The key of the caches of a space that has subjects, wrapped by the master key. Each erasure ends it.
CREATE TABLE recollect.cache_keys (
  space bigint PRIMARY KEY,
  key bytea NOT NULL
);

-- Which processes have an index of which space, and up to which epoch each has dropped what was erased. A row is
-- removed when the index goes to sleep and when the process ends. A process that was killed removes none, and
-- one that is stopped renews none, so each row counts until an instant.
CREATE TABLE recollect.holders (
  process text COLLATE "C" NOT NULL, -- a number that it drew
  space bigint NOT NULL,
  name text NOT NULL,                -- for people
  epoch bigint NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (process, space)
);
CREATE INDEX holders_by_space ON recollect.holders (space);

-- What a note of a holder and an order to erase both take, so that one waits for the other.
CREATE FUNCTION recollect.holding(place bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT hashtextextended('recollect.holders ' || place::text, 0)
$$;

-- Notes that a process has an index of a space, without what was erased up to an epoch; returns the present epoch.
-- Either an order to erase that comes meanwhile waits, and its report names this process, or this waits for
-- the order and returns its epoch. Null if nothing was noted: the space was dropped, or nothing can be written. A
-- read must not wait for the disk or a standby, so a commit of its own is not waited for.
CREATE FUNCTION recollect.hold(
  place bigint, who text, called text, dropped bigint, lease_s bigint, alone boolean
) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  present bigint;
BEGIN
  IF place IS NULL OR who IS NULL OR current_setting('transaction_read_only')::boolean THEN
    RETURN NULL;
  END IF;
  IF alone THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  PERFORM pg_advisory_xact_lock_shared(recollect.holding(place));
  SELECT s.epoch INTO present FROM recollect.spaces s WHERE s.id = place;
  IF FOUND THEN
    INSERT INTO recollect.holders (process, space, name, epoch, until)
    VALUES (who, place, called, dropped, clock_timestamp() + make_interval(secs => lease_s))
    ON CONFLICT (process, space) DO UPDATE SET epoch = EXCLUDED.epoch, until = EXCLUDED.until;
    DELETE FROM recollect.holders h
    WHERE h.space = place AND h.until < clock_timestamp() - interval '7 days';
  END IF;
  RETURN present;
END
$$;

-- A process has no index of a space any more, or none at all.
CREATE FUNCTION recollect.let_go(who text, place bigint, alone boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF current_setting('transaction_read_only')::boolean THEN
    RETURN;
  END IF;
  IF alone THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  DELETE FROM recollect.holders h WHERE h.process = who AND (place IS NULL OR h.space = place);
END
$$;

-- Appends whole lines if the ledger still ends where the writer thinks. False if another writer came before,
-- or the space was dropped. The chain is checked by those who fold it; here only that the last line is the new
-- head, so that no line is missing or too many. An append that erases raises the epoch, removes the caches that hold what it
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
  IF count = 0
    OR position(convert_to(format('"seq":%s,', head + count), 'UTF8') IN substring(lines[count] FROM 1 FOR 40)) = 0
    OR position(convert_to(format(',"hash":"%s"', hashed), 'UTF8') IN substring(lines[count] FROM 1 FOR 1024)) = 0
  THEN
    RAISE EXCEPTION 'the last line is not the new head' USING ERRCODE = 'integrity_constraint_violation';
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
    PERFORM pg_advisory_xact_lock(recollect.holding(place));
    DELETE FROM recollect.snapshots c WHERE c.space = place;
    DELETE FROM recollect.cache_keys k WHERE k.space = place;
    DELETE FROM recollect.blocks b WHERE b.space = place AND (
      b.encrypted OR EXISTS (SELECT 1 FROM unnest(targets) t WHERE t > b.after AND t <= b.through)
    );
    INSERT INTO recollect.destroyed_keys
    SELECT place, s, dated, head + count FROM unnest(subjects) s
    ON CONFLICT (space, pseudonym) DO NOTHING;
    DELETE FROM recollect.subject_keys k WHERE k.space = place AND k.pseudonym = ANY (subjects);
  END IF;
  RETURN true;
END
$$;

-- What is encrypted for one person must not lie here in the clear: the caches of such a space are encrypted too.
CREATE FUNCTION recollect.has_keys(place bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT 1 FROM recollect.subject_keys k WHERE k.space = place)
$$;

-- Keeps the wrapped key of a space's caches, unless there is one; returns the one that is there. Null if something
-- was erased since this epoch.
CREATE FUNCTION recollect.keep_cache_key(place bigint, at_epoch bigint, made bytea) RETURNS bytea
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM 1 FROM recollect.spaces s WHERE s.id = place AND s.epoch = at_epoch FOR SHARE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  INSERT INTO recollect.cache_keys (space, key) VALUES (place, made) ON CONFLICT (space) DO NOTHING;
  RETURN (SELECT k.key FROM recollect.cache_keys k WHERE k.space = place);
END
$$;

-- True if a cache may be kept that was encrypted with this key, or with none (null).
CREATE FUNCTION recollect.may_keep(place bigint, made_with bytea) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN made_with IS NULL THEN NOT recollect.has_keys(place)
    ELSE EXISTS (SELECT 1 FROM recollect.cache_keys k WHERE k.space = place AND k.key = made_with) END
$$;

-- Keeps an index, if nothing was erased since it was made.
CREATE FUNCTION recollect.keep_snapshot(
  place bigint, at_epoch bigint, made_by text, folded bigint, data bytea, made_with bytea
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM 1 FROM recollect.spaces s WHERE s.id = place AND s.epoch = at_epoch FOR SHARE;
  IF NOT FOUND OR NOT recollect.may_keep(place, made_with) THEN
    RETURN false;
  END IF;
  INSERT INTO recollect.snapshots AS c (space, version, seq, image, encrypted)
  VALUES (place, made_by, folded, data, made_with IS NOT NULL)
  ON CONFLICT (space, version) DO UPDATE
    SET seq = EXCLUDED.seq, image = EXCLUDED.image, encrypted = EXCLUDED.encrypted
    WHERE c.seq < EXCLUDED.seq;
  RETURN true;
END
$$;

-- Keeps the vectors of the texts after one event, up to another, if nothing was erased since they were made.
CREATE FUNCTION recollect.keep_block(
  place bigint, at_epoch bigint, made_by text, since bigint, till bigint, data bytea, made_with bytea
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE recollect.spaces s SET blocks = s.blocks + 1
  WHERE s.id = place AND s.epoch = at_epoch AND recollect.may_keep(place, made_with);
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO recollect.blocks AS b (space, embedder, after, through, rows, encrypted)
  VALUES (place, made_by, since, till, data, made_with IS NOT NULL)
  ON CONFLICT (space, embedder, after) DO UPDATE
    SET through = EXCLUDED.through, rows = EXCLUDED.rows, encrypted = EXCLUDED.encrypted
    WHERE b.through <= EXCLUDED.through; -- it has the same texts, or the other could not be read
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

CREATE FUNCTION recollect.keep_notes() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'notes of dropped spaces are only ever added'
    USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER keep_notes BEFORE UPDATE OR DELETE OR TRUNCATE ON recollect.dropped
FOR EACH STATEMENT EXECUTE FUNCTION recollect.keep_notes();

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
  PERFORM pg_advisory_xact_lock(recollect.holding(place));
  DELETE FROM recollect.snapshots c WHERE c.space = place;
  DELETE FROM recollect.blocks b WHERE b.space = place;
  DELETE FROM recollect.cache_keys k WHERE k.space = place;
  RETURN true;
END
$$;

-- Drops a space whole; a note stays, and who has an index of it. False if it is gone already.
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
  PERFORM pg_advisory_xact_lock(recollect.holding(place));
  DELETE FROM recollect.checkpoints c WHERE c.space = place;
  DELETE FROM recollect.subject_keys k WHERE k.space = place;
  DELETE FROM recollect.destroyed_keys k WHERE k.space = place;
  DELETE FROM recollect.snapshots c WHERE c.space = place;
  DELETE FROM recollect.blocks b WHERE b.space = place;
  DELETE FROM recollect.cache_keys k WHERE k.space = place;
  DELETE FROM recollect.jobs j WHERE j.space = gone.name;
  DELETE FROM recollect.schedules j WHERE j.space = gone.name;
  UPDATE recollect.tokens t SET revoked = clock_timestamp()
  WHERE t.space = gone.name AND t.revoked IS NULL;
  RETURN true;
END
$$;
