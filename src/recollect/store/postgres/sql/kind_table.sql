-- The kinds of events are a table that append() reads: a new kind is a row in a later revision, and the
-- text of the function stays. The role of the service neither reads nor writes the table.
--
-- Each kind says which revision brought it. A space keeps the newest revision of the kinds in its
-- ledger, and entering it tells a client: a client of the revision before works in every space but
-- those that hold a kind it does not know.

CREATE TABLE recollect.kinds (
  name text COLLATE "C" PRIMARY KEY,
  since text COLLATE "C" NOT NULL, -- the revision that brought it
  carries_trust boolean NOT NULL,  -- its body has a trust, which is at most its writer's
  needs text NOT NULL CHECK (needs IN ('unverified', 'agent', 'person')), -- the least trust of a writer
  verb text NOT NULL CHECK (verb IN ('write', 'erase')), -- what the token must allow
  -- The least trust of a writer that may bring it with the origin 'system'; NULL: nobody does.
  system text CHECK (system IN ('unverified', 'agent', 'person'))
);
REVOKE ALL ON recollect.kinds FROM PUBLIC;

INSERT INTO recollect.kinds (name, since, carries_trust, needs, verb, system) VALUES
  ('space.opened', '0001', false, 'unverified', 'write', 'unverified'),
  ('episode.observed', '0001', false, 'unverified', 'write', NULL),
  ('episode.forgotten', '0001', false, 'unverified', 'write', NULL),
  ('episode.restored', '0001', false, 'unverified', 'write', NULL),
  ('record.added', '0001', true, 'unverified', 'write', NULL),
  ('record.revised', '0001', true, 'unverified', 'write', NULL),
  ('record.superseded', '0001', false, 'agent', 'write', NULL),
  ('record.reinforced', '0001', false, 'agent', 'write', NULL),
  ('record.forgotten', '0001', false, 'unverified', 'write', NULL),
  ('record.restored', '0001', false, 'unverified', 'write', NULL),
  ('record.tagged', '0001', false, 'unverified', 'write', NULL),
  ('link.added', '0001', true, 'unverified', 'write', NULL),
  ('link.removed', '0001', false, 'unverified', 'write', NULL),
  ('events.erased', '0001', false, 'person', 'erase', 'person'), -- it cannot be undone
  ('ledger.tail_cut', '0001', false, 'unverified', 'write', 'person'),
  ('ledger.sealed', '0001', false, 'unverified', 'write', 'unverified'),
  ('ledger.loss_accepted', '0001', false, 'unverified', 'write', 'person'),
  ('frame.set', '0002', true, 'agent', 'write', NULL),
  ('frame.dropped', '0002', false, 'agent', 'write', NULL),
  ('context.handed', '0002', false, 'unverified', 'write', NULL);

-- The newest revision of the kinds that a space holds. Clients before this revision do not ask.
ALTER TABLE recollect.spaces ADD COLUMN since text COLLATE "C" NOT NULL DEFAULT '0006';

-- Entering answers with the space's revision too, and is otherwise as it was.
DROP FUNCTION recollect.enter(text, text, boolean);
CREATE FUNCTION recollect.enter(
  named text, token text, writing boolean,
  OUT space bigint, OUT seq bigint, OUT hash text, OUT at text,
  OUT verbs text[], OUT origin text, OUT "user" text, OUT agent text, OUT since text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  id bigint;
BEGIN
  SELECT s.id, s.seq, s.hash, s.at, t.verbs, t.origin, t."user", t.agent, s.since, t.id
  INTO space, seq, hash, at, verbs, origin, "user", agent, since, id
  FROM recollect.tokens t JOIN recollect.spaces s ON t.every_space OR s.id = t.space
  WHERE t.hash = sha256(convert_to(token, 'UTF8')) AND s.name = named AND t.revoked IS NULL
    AND (t.expires IS NULL OR t.expires > clock_timestamp())
    AND 'read' = ANY (t.verbs); -- deciding needs reading
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
    SELECT s.seq, s.hash, s.at, s.since INTO seq, hash, at, since FROM recollect.spaces s
    WHERE s.id = space FOR UPDATE;
  END IF;
  PERFORM set_config('recollect.space', space::text, true),
    set_config('recollect.token', id::text, true),
    set_config('recollect.rights', origin || ':' || array_to_string(verbs, ','), true),
    set_config('recollect.user', coalesce("user", ''), true),
    set_config('recollect.agent', coalesce(agent, ''), true);
  PERFORM set_config('recollect.mark', recollect.sign(space), true);
END
$$;
REVOKE ALL ON FUNCTION recollect.enter(text, text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.enter(text, text, boolean) TO recollect_app;

-- What a writer of a kind must be stands in the table, so the judge keeps what depends on the body.
CREATE OR REPLACE FUNCTION recollect.judge(
  number bigint, head bigint, kind text, body jsonb, ceiling text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  me text := nullif(current_setting('recollect.user', true), '');
  mine text := nullif(current_setting('recollect.agent', true), '');
  opens boolean := kind = 'space.opened' AND number = 1;
  allowed boolean;
BEGIN
  IF ceiling = 'unverified' AND kind = 'record.added'
    AND (body ->> 'status' <> 'held' OR body ? 'supersedes') THEN
    RAISE EXCEPTION 'event % is more than an unverified source may do', number
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF mine IS NOT NULL AND NOT opens AND body ->> 'agent' IS DISTINCT FROM mine THEN
    RAISE EXCEPTION 'event % is not of the agent of its token', number
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF me IS NULL OR opens THEN
    RETURN;
  END IF;
  PERFORM 1 FROM recollect.position p WHERE p.space = recollect.here() AND p.seq = head;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the index is behind the ledger'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  allowed := CASE
    WHEN kind = 'events.erased' THEN NOT EXISTS (
      SELECT 1 FROM jsonb_array_elements_text(body -> 'targets') t (target)
      WHERE NOT coalesce(recollect.is_own_event(t.target::bigint), false)
    )
    ELSE coalesce(recollect.is_own_subject(kind, body, me), false)
  END;
  IF NOT allowed OR body ->> 'user' IS DISTINCT FROM me THEN
    RAISE EXCEPTION 'event % is not about the memory of its token''s user', number
      USING ERRCODE = 'insufficient_privilege';
  END IF;
END
$$;

-- One append: whole lines without their newlines, for the space that was entered. Refused unless
-- every line continues the chain, matches its own two hashes and has the form that every reader asks
-- for: what is said of its kind and origin below is then what a reader finds. No literal here holds a
-- backslash, because the caller's settings say what one means. A line that comes without its body,
-- because another store erased it, matches one; the event that erased it must be there at the end of
-- the transaction (erasure_is_there).
CREATE OR REPLACE FUNCTION recollect.append(lines bytea[]) RETURNS void
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
  -- The form of a header is checked by building it: a pattern would cost a hundred times more.
  digits text := '0123456789';
  id_characters text := 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@/+~#=-';
  tiers text[] := ARRAY['unverified', 'agent', 'person']; -- from least to most
  rule recollect.kinds; -- of the kind of this line
  newest text; -- the newest revision of the kinds that the ledger holds
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
  claimed text; -- the trust that a body speaks of
  erased boolean;
BEGIN
  SELECT * INTO head FROM recollect.spaces s WHERE s.id = recollect.here() FOR UPDATE;
  number := head.seq;
  last := head.seq + cardinality(lines);
  previous := head.hash;
  before := head.at;
  newest := head.since;
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
    IF rule.name IS DISTINCT FROM kind THEN -- lines of one kind often follow each other
      SELECT * INTO rule FROM recollect.kinds k WHERE k.name = kind;
      newest := greatest(newest, rule.since);
    END IF;
    instant := split_part(rest, '"', 9);
    origin := split_part(rest, '"', 13);
    committed := left(right(rest, 140), 64);
    IF rest <> id || '","kind":"' || kind || '","at":"' || instant || '","origin":"' || origin
        || '","subject":null,"cipher":null,"body":"' || committed || '","prev":"' || previous || '",'
      OR length(id) NOT BETWEEN 1 AND 160 OR translate(id, id_characters, '') <> ''
      OR (id <> next_id AND (right(id, 2) <> '.1' OR length(id) < 3))
      OR rule.name IS NULL
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
    IF instant COLLATE "C" > head.at COLLATE "C"
      AND instant COLLATE "C" > recollect.latest_instant() COLLATE "C" THEN
      RAISE EXCEPTION 'event % is dated %, ahead of this server''s clock', number, instant
        USING ERRCODE = 'datetime_field_overflow';
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
        RAISE EXCEPTION 'the body of event % is not an object', number
          USING ERRCODE = 'integrity_constraint_violation';
      END IF;
    END IF;
    IF ceiling = 'unverified' OR current_setting('recollect.user', true) <> ''
      OR current_setting('recollect.agent', true) <> '' THEN
      PERFORM recollect.judge(
        number, head.seq, kind, CASE WHEN NOT erased THEN body END, ceiling
      );
    END IF;
    -- No writer claims more trust than the token has. What other stores noted of themselves comes with
    -- their owner.
    IF NOT coalesce(array_position(tiers, ceiling) >= array_position(
      tiers, CASE WHEN origin = 'system' THEN rule.system ELSE origin END
    ), false) THEN
      RAISE EXCEPTION 'event % claims more trust than its writer has', number
        USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF array_position(tiers, ceiling) < array_position(tiers, rule.needs) THEN
      RAISE EXCEPTION 'event % (%) needs a writer with the trust %', number, kind, rule.needs
        USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF rule.carries_trust AND ceiling <> 'person' AND NOT erased THEN
      claimed := body ->> 'trust';
      IF claimed IS DISTINCT FROM 'unverified' AND claimed IS DISTINCT FROM ceiling THEN
        RAISE EXCEPTION 'event % holds more trust than its writer has', number
          USING ERRCODE = 'insufficient_privilege';
      END IF;
    END IF;
    IF rule.verb <> 'write' THEN -- which was asked for at the start
      PERFORM recollect.require(rule.verb);
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
  UPDATE recollect.spaces s SET seq = last, hash = previous, at = instant, since = newest
  WHERE s.id = head.id;
END
$$;
DROP FUNCTION recollect.later_kinds();
