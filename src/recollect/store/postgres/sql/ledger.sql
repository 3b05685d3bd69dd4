-- The shared ledger, its spaces and the tokens that open them. What stands here cannot be rebuilt:
-- changes come as further revisions. Everything is owned by whoever migrates. The role of the
-- service, recollect_app, reads events and calls functions; it writes no table of this file.

CREATE SCHEMA IF NOT EXISTS recollect;

-- The revision of what stands here: one row. Migrating makes this table first, in the same shape.
CREATE TABLE IF NOT EXISTS recollect.revision (
  version_num varchar(32) NOT NULL CONSTRAINT revision_pkc PRIMARY KEY
);

CREATE TABLE recollect.spaces (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  seq bigint NOT NULL DEFAULT 0,
  hash text COLLATE "C" NOT NULL DEFAULT repeat('0', 64),
  at text COLLATE "C" NOT NULL DEFAULT '0000-00-00T00:00:00.000000Z'
);

-- A line is header || body || newline. The header goes through its hash and never changes; the body
-- begins with the comma after it and is what an erasure replaces.
CREATE TABLE recollect.events (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  header bytea NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (space, seq)
);

CREATE TABLE recollect.tokens (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash bytea NOT NULL UNIQUE, -- SHA-256 of the token; the token itself is shown once
  label text NOT NULL,
  every_space boolean NOT NULL,
  space bigint REFERENCES recollect.spaces (id) ON DELETE CASCADE,
  verbs text[] NOT NULL,
  origin text NOT NULL CHECK (origin IN ('person', 'agent', 'unverified')),
  "user" text,
  agent text,
  made timestamptz NOT NULL DEFAULT now(),
  expires timestamptz,
  revoked timestamptz,
  CHECK (every_space = (space IS NULL))
);

-- What here() believes of a transaction is signed with this. Nobody but the functions reads it.
CREATE TABLE recollect.secret (
  one integer PRIMARY KEY CHECK (one = 1),
  key bytea NOT NULL
);
INSERT INTO recollect.secret VALUES (
  1, sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'))
);

-- A mark that only these functions can make, for one space, with the rights there, in one
-- transaction of one backend: the one that began at this instant. Transactions that begin in one
-- message share it, so enter() asks for a message of its own. These two are called for every statement, so they name everything in
-- full in place of a search_path: types and what NULLIF would compare with, too, because whoever calls
-- can put a domain with a check, or an operator, of the same name before those of the system.
CREATE FUNCTION recollect.sign(space bigint, rights text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
DECLARE
  secret pg_catalog.bytea;
BEGIN
  SELECT s.key INTO secret FROM recollect.secret s;
  RETURN pg_catalog.encode(pg_catalog.sha256(
    secret OPERATOR(pg_catalog.||) pg_catalog.int8send(space)
    OPERATOR(pg_catalog.||) pg_catalog.int4send(pg_catalog.pg_backend_pid())
    OPERATOR(pg_catalog.||) pg_catalog.timestamptz_send(pg_catalog.transaction_timestamp())
    OPERATOR(pg_catalog.||) pg_catalog.convert_to(rights, 'UTF8')
  ), 'hex');
END
$$;

-- The space that this transaction has entered. A setting alone proves nothing, because anybody may
-- change a setting: it counts only with its mark.
CREATE FUNCTION recollect.here() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
DECLARE
  setting pg_catalog.text := pg_catalog.current_setting('recollect.space', true);
  said pg_catalog.int8 := CASE WHEN setting OPERATOR(pg_catalog.<>) '' THEN setting END;
BEGIN
  IF said IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN CASE
    WHEN pg_catalog.current_setting('recollect.mark', true) OPERATOR(pg_catalog.=)
      recollect.sign(said, pg_catalog.current_setting('recollect.rights', true)) THEN said
  END;
END
$$;

-- Begins work in a space, for one transaction. Not yours and not there answer alike. Whoever
-- writes waits here for the writer before.
CREATE FUNCTION recollect.enter(
  named text, token text, writing boolean,
  OUT space bigint, OUT seq bigint, OUT hash text, OUT at text,
  OUT verbs text[], OUT origin text, OUT "user" text, OUT agent text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  rights text;
BEGIN
  SELECT s.id, s.seq, s.hash, s.at, t.verbs, t.origin, t."user", t.agent
  INTO space, seq, hash, at, verbs, origin, "user", agent
  FROM recollect.tokens t JOIN recollect.spaces s ON t.every_space OR s.id = t.space
  WHERE t.hash = sha256(convert_to(token, 'UTF8')) AND s.name = named AND t.revoked IS NULL
    AND (t.expires IS NULL OR t.expires > now())
    AND 'read' = ANY (t.verbs); -- whoever decides must read
  IF space IS NULL THEN
    RAISE EXCEPTION 'no such space' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF writing AND NOT 'write' = ANY (verbs) THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  -- What begins in this message or later has another instant than a transaction that began before
  -- it, so the mark is good for that one alone. A number that is unique by itself would cost a write.
  IF statement_timestamp() <= transaction_timestamp() THEN
    RAISE EXCEPTION 'a space is entered in a message after BEGIN'
      USING ERRCODE = 'invalid_transaction_state';
  END IF;
  IF writing THEN -- nobody waits for, or holds up, a space that is not theirs
    SELECT s.seq, s.hash, s.at INTO seq, hash, at FROM recollect.spaces s
    WHERE s.id = space FOR UPDATE;
  END IF;
  rights := origin || ':' || array_to_string(verbs, ',');
  PERFORM set_config('recollect.space', space::text, true),
    set_config('recollect.rights', rights, true),
    set_config('recollect.mark', recollect.sign(space, rights), true);
END
$$;

-- Refuses unless the entered space was entered with this right.
CREATE FUNCTION recollect.require(verb text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  rights text := current_setting('recollect.rights', true);
BEGIN
  IF recollect.here() IS NULL
    OR NOT verb = ANY (string_to_array(split_part(rights, ':', 2), ',')) THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN split_part(rights, ':', 1);
END
$$;

-- The space that this transaction may write in; the policies of the index ask.
CREATE FUNCTION recollect.here_to_write() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  rights text := current_setting('recollect.rights', true);
BEGIN
  RETURN CASE
    WHEN 'write' = ANY (string_to_array(split_part(rights, ':', 2), ',')) THEN recollect.here()
  END;
END
$$;

-- Makes a space, for a token that may; entering tells the rest.
CREATE FUNCTION recollect.make_space(named text, token text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM 1 FROM recollect.tokens t
  WHERE t.hash = sha256(convert_to(token, 'UTF8')) AND t.revoked IS NULL AND t.every_space
    AND 'create' = ANY (t.verbs) AND (t.expires IS NULL OR t.expires > now());
  IF FOUND THEN
    INSERT INTO recollect.spaces (name) VALUES (named) ON CONFLICT (name) DO NOTHING;
  END IF;
END
$$;

-- The names a token opens.
CREATE FUNCTION recollect.spaces_of(token text) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.name FROM recollect.spaces s
  JOIN recollect.tokens t ON t.every_space OR t.space = s.id
  WHERE t.hash = sha256(convert_to(token, 'UTF8')) AND t.revoked IS NULL
    AND (t.expires IS NULL OR t.expires > now())
  ORDER BY s.name
$$;

-- One append: whole lines without their newlines, for the space that was entered. Refused unless
-- every line continues the chain, matches its own two hashes and has the form that every reader asks
-- for: what is said of its kind and origin below is then what a reader finds. No literal here holds a
-- backslash, because the caller's settings say what one means. A line that comes without its body,
-- because another store erased it, matches one; the event that erased it must be there at the end of
-- the transaction (erasure_is_there).
CREATE FUNCTION recollect.append(lines bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  head recollect.spaces;
  last bigint;
  number bigint;
  previous text;
  line bytea;
  boundary bytea := convert_to(',"hash":"', 'UTF8');
  cut integer; -- where it stands
  newline bytea := convert_to(chr(10), 'UTF8');
  front text;
  -- The form of a header is checked by building it anew: a pattern would cost a hundred times more.
  digits text := '0123456789';
  id_characters text := 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@/+~#=-';
  kinds text[] := ARRAY[
    'space.opened', 'episode.observed', 'episode.forgotten', 'episode.restored', 'record.added',
    'record.revised', 'record.superseded', 'record.reinforced', 'record.forgotten',
    'record.restored', 'record.tagged', 'link.added', 'link.removed', 'events.erased',
    'ledger.tail_cut', 'ledger.sealed', 'ledger.loss_accepted'
  ];
  rest text; -- of the header, after the id's quote
  id text;
  kind text;
  next_id text := ''; -- of the same command's next event
  ordinal text;
  instant text;
  before text; -- the instant of the event before
  origin text;
  committed text;
  body jsonb;
  ceiling text := recollect.require('write');
  said text;
  claimed text; -- the trust that a body speaks of
  erased boolean;
BEGIN
  SELECT * INTO head FROM recollect.spaces s WHERE s.id = recollect.here() FOR UPDATE;
  number := head.seq;
  last := head.seq + cardinality(lines);
  previous := head.hash;
  before := head.at;
  IF cardinality(lines) > 20000 OR (SELECT sum(length(l) + 1) FROM unnest(lines) l) > 150994944 THEN
    RAISE EXCEPTION 'an append is not as long' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  FOREACH line IN ARRAY lines LOOP
    number := number + 1;
    cut := position(boundary IN line);
    front := '{"v":1,"seq":' || number || ',"tx":[' || head.seq + 1 || ',' || last || '],"id":"';
    erased := cut >= 250 AND length(line) < cut + 110
      AND encode(substring(line FROM cut + 73), 'escape') ~ '^","erased":"[1-9][0-9]{0,15}"[}]$';
    IF cut < 250
      OR encode(substring(line FROM 1 FOR length(front)), 'escape') <> front
      OR position(newline IN line) > 0
    THEN
      RAISE EXCEPTION 'event % does not continue the ledger', number
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    rest := encode(substring(line FROM length(front) + 1 FOR cut - length(front)), 'escape');
    id := split_part(rest, '"', 1);
    kind := split_part(rest, '"', 5);
    instant := split_part(rest, '"', 9);
    origin := split_part(rest, '"', 13);
    committed := left(right(rest, 140), 64);
    IF rest <> id || '","kind":"' || kind || '","at":"' || instant || '","origin":"' || origin
        || '","subject":null,"cipher":null,"body":"' || committed || '","prev":"' || previous || '",'
      OR length(id) NOT BETWEEN 1 AND 160 OR translate(id, id_characters, '') <> ''
      OR (id <> next_id AND (right(id, 2) <> '.1' OR length(id) < 3))
      OR NOT kind = ANY (kinds)
      OR translate(instant, digits, '0000000000') <> '0000-00-00T00:00:00.000000Z'
      OR NOT pg_input_is_valid(instant, 'timestamptz')
      OR instant COLLATE "C" < before COLLATE "C"
      OR left(instant, 19) <> to_char(left(instant, 19)::timestamp, 'YYYY-MM-DD"T"HH24:MI:SS')
      OR origin NOT IN ('person', 'agent', 'unverified', 'system')
      OR translate(committed, digits || 'abcdef', '') <> ''
    THEN
      RAISE EXCEPTION 'event % does not continue the ledger', number
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    before := instant;
    ordinal := split_part(id, '.', -1);
    next_id := left(id, -length(ordinal)) || ordinal::bigint + 1;
    IF erased THEN
      PERFORM recollect.require('erase');
    ELSIF encode(substring(line FROM cut + 73 FOR 10), 'escape') <> '","salt":"'
      OR translate(encode(substring(line FROM cut + 83 FOR 32), 'escape'), digits || 'abcdef', '')
        <> ''
      OR encode(substring(line FROM length(line)), 'escape') <> '}'
      OR encode(substring(line FROM cut + 115 FOR 9), 'escape') <> '","data":'
      OR encode(sha256(
        decode(encode(substring(line FROM cut + 83 FOR 32), 'escape'), 'hex')
        || substring(line FROM cut + 124 FOR length(line) - cut - 124)
      ), 'hex') <> committed
    THEN
      RAISE EXCEPTION 'the body of event % is not its own', number
        USING ERRCODE = 'integrity_constraint_violation';
    ELSE
      body := convert_from(substring(line FROM cut + 124 FOR length(line) - cut - 124), 'UTF8')
        ::jsonb;
      IF jsonb_typeof(body) <> 'object' THEN
        RAISE EXCEPTION 'the body of event % is no object', number
          USING ERRCODE = 'integrity_constraint_violation';
      END IF;
    END IF;
    -- Nobody writes with more trust than the token has; the store's own events speak for it alone.
    -- What other stores noted of themselves comes with their owner.
    said := origin || ' ' || kind;
    IF NOT (
      said LIKE 'unverified %' OR (said LIKE 'agent %' AND ceiling IN ('agent', 'person'))
      OR (said LIKE 'person %' AND ceiling = 'person')
      OR said IN ('system space.opened', 'system ledger.sealed')
      OR (ceiling = 'person' AND said IN (
        'system ledger.tail_cut', 'system ledger.loss_accepted', 'system events.erased'
      ))
    ) THEN
      RAISE EXCEPTION 'event % claims more trust than its writer has', number
        USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF ceiling <> 'person' AND NOT erased
      AND kind IN ('record.added', 'record.revised', 'link.added') THEN
      claimed := body ->> 'trust';
      IF claimed IS DISTINCT FROM 'unverified' AND claimed IS DISTINCT FROM ceiling THEN
        RAISE EXCEPTION 'event % holds more trust than its writer has', number
          USING ERRCODE = 'insufficient_privilege';
      END IF;
    END IF;
    IF said LIKE '% events.erased' THEN -- cannot be undone, so it needs a person
      PERFORM recollect.require('erase');
      IF ceiling <> 'person' THEN
        RAISE EXCEPTION 'event % erases', number USING ERRCODE = 'insufficient_privilege';
      END IF;
    END IF;
    previous := encode(sha256(substring(line FROM 1 FOR cut - 1)), 'hex');
    IF encode(substring(line FROM cut + 9 FOR 64), 'escape') <> previous THEN
      RAISE EXCEPTION 'event % does not match its hash', number
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END LOOP;
  INSERT INTO recollect.events (space, seq, header, body)
  SELECT head.id, head.seq + u.n, substring(u.line FROM 1 FOR u.cut + 73),
    substring(u.line FROM u.cut + 74)
  FROM (
    SELECT l.line, l.n, position(boundary IN l.line) AS cut
    FROM unnest(lines) WITH ORDINALITY l (line, n)
  ) u;
  UPDATE recollect.spaces s SET seq = last, hash = previous, at = instant
  WHERE s.id = head.id;
END
$$;

-- Refuses unless the one event of the entered space erases the other.
CREATE FUNCTION recollect.require_erasure(erasing bigint, target bigint) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  orders jsonb;
BEGIN
  SELECT (convert_from(substring(e.body FROM 51 FOR length(e.body) - 51), 'UTF8'))::jsonb
    -> 'targets' INTO orders
  FROM recollect.events e
  WHERE e.space = recollect.here() AND e.seq = erasing
    AND position(convert_to('"kind":"events.erased"', 'UTF8') IN e.header) > 0
    AND position(convert_to(',"salt":"', 'UTF8') IN e.body) = 1;
  IF orders IS NULL OR NOT orders @> to_jsonb(target) THEN
    RAISE EXCEPTION 'event % does not erase event %', erasing, target
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
END
$$;

-- Takes the bodies of events away that an event of the same ledger erased.
CREATE FUNCTION recollect.erase_bodies(seqs bigint[], erased_by bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  pair record;
BEGIN
  PERFORM recollect.require('erase');
  FOR pair IN SELECT * FROM unnest(seqs, erased_by) AS p (seq, erasing) LOOP
    PERFORM recollect.require_erasure(pair.erasing, pair.seq);
    UPDATE recollect.events e
    SET body = convert_to(format(',"erased":"%s"}', pair.erasing), 'UTF8')
    WHERE e.space = recollect.here() AND e.seq = pair.seq;
  END LOOP;
END
$$;

-- Whoever may do anything else still meets this.
CREATE FUNCTION recollect.keep_events() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.space = OLD.space AND NEW.seq = OLD.seq
    AND NEW.header = OLD.header
    AND encode(NEW.body, 'escape') ~ '^,"erased":"[0-9]+"[}]$' THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'events are only ever added' USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER keep_events BEFORE UPDATE OR DELETE ON recollect.events
FOR EACH ROW EXECUTE FUNCTION recollect.keep_events();
CREATE TRIGGER keep_all_events BEFORE TRUNCATE ON recollect.events
FOR EACH STATEMENT EXECUTE FUNCTION recollect.keep_events();

-- An event that came without its body: at the end of the transaction there must be a reason.
CREATE FUNCTION recollect.erasure_is_there() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF recollect.here() IS DISTINCT FROM NEW.space THEN
    RAISE EXCEPTION 'the space of event % was left too early', NEW.seq
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  PERFORM recollect.require_erasure(
    split_part(encode(NEW.body, 'escape'), '"', 4)::bigint, NEW.seq
  );
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER erasure_is_there AFTER INSERT ON recollect.events
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (position('\x2c22657261736564223a22'::bytea IN NEW.body) = 1)
EXECUTE FUNCTION recollect.erasure_is_there();

ALTER TABLE recollect.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE recollect.events FORCE ROW LEVEL SECURITY;
CREATE POLICY entered ON recollect.events
  USING (space = (SELECT recollect.here())) WITH CHECK (space = (SELECT recollect.here()));

REVOKE ALL ON ALL TABLES IN SCHEMA recollect FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;

DO $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'recollect_app') THEN
    CREATE ROLE recollect_app NOLOGIN;
  END IF;
END
$$;
GRANT USAGE ON SCHEMA recollect TO recollect_app;
GRANT SELECT ON recollect.events, recollect.revision TO recollect_app;
GRANT EXECUTE ON FUNCTION recollect.here(), recollect.here_to_write(),
  recollect.enter(text, text, boolean),
  recollect.make_space(text, text), recollect.spaces_of(text), recollect.append(bytea[]),
  recollect.erase_bodies(bigint[], bigint[]) TO recollect_app;
