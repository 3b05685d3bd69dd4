-- Subjects: bodies that are encrypted for one person, and the keys that open them (decision 55). The keys are
-- wrapped by a master key that clients have and this server never sees. So the server cannot read who or what
-- an encrypted body is about, nor which trust it claims: the fold gives it at most the trust of its origin, which
-- stands in the header and is judged here as always. A token for one user or one agent brings no encrypted
-- body, because nobody could judge whose memory it changes.

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

-- What stays of a key that was destroyed.
CREATE TABLE recollect.destroyed_keys (
  space bigint NOT NULL,
  pseudonym text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  by bigint NOT NULL, -- the event that ordered it; 0 if nothing was encrypted with it
  PRIMARY KEY (space, pseudonym)
);

-- A token for one user sees no row of either: it can neither encrypt nor fold.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['subject_keys', 'destroyed_keys'] LOOP
    EXECUTE format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE recollect.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY entered ON recollect.%I'
      ' USING (space = (SELECT CASE WHEN %s THEN NULL ELSE recollect.here() END))'
      ' WITH CHECK (space = (SELECT recollect.here()))',
      name, recollect.limited()
    );
  END LOOP;
END
$$;

-- The entered space, for a token that writes in all of it.
CREATE FUNCTION recollect.here_to_encrypt(verb text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM recollect.require(verb);
  IF current_setting('recollect.user', true) <> '' OR current_setting('recollect.agent', true) <> ''
  THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN recollect.here();
END
$$;

-- Keeps a subject. One that is known stays as it is, and a destroyed one never comes back.
CREATE FUNCTION recollect.keep_subject(
  subject text, version integer, mark bytea, wrapped bytea, named bytea, since text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here_to_encrypt('write');
BEGIN
  IF coalesce(
    length(subject) <> 32 OR translate(subject, '0123456789abcdef', '') <> ''
    OR version NOT BETWEEN 1 AND 999999999 OR length(mark) <> 32 OR length(wrapped) <> 60
    OR length(named) NOT BETWEEN 28 AND 8192
    OR translate(since, '0123456789', '0000000000') <> '0000-00-00T00:00:00.000000Z', true
  ) OR EXISTS (
    SELECT 1 FROM recollect.destroyed_keys d WHERE d.space = place AND d.pseudonym = subject
  ) THEN
    RAISE EXCEPTION 'not a subject' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  INSERT INTO recollect.subject_keys VALUES (place, subject, version, mark, wrapped, named, since)
  ON CONFLICT (space, pseudonym) DO NOTHING;
END
$$;

-- Destroys keys, as an event of the ledger orders; without one only a key with which nothing is encrypted.
-- Tells which of them were there.
CREATE FUNCTION recollect.destroy_subjects(subjects text[], ordered bigint) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here_to_encrypt('erase');
  orders jsonb;
  subject text;
BEGIN
  IF recollect.require('erase') <> 'person' THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  SELECT recollect.said_in(e.body) -> 'subjects' INTO orders FROM recollect.events e
  WHERE e.space = place AND e.seq = ordered
    AND position(convert_to('"kind":"events.erased"', 'UTF8') IN e.header) > 0;
  FOREACH subject IN ARRAY subjects LOOP
    IF NOT coalesce(orders @> to_jsonb(subject), false) AND EXISTS (
      SELECT 1 FROM recollect.events e WHERE e.space = place
        AND position(convert_to('"subject":"' || subject || '"', 'UTF8') IN e.header) > 0
        AND position(convert_to(',"salt":"', 'UTF8') IN e.body) = 1
    ) THEN
      RAISE EXCEPTION 'no event orders this' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    INSERT INTO recollect.destroyed_keys VALUES (
      place, subject, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), ordered
    ) ON CONFLICT (space, pseudonym) DO NOTHING;
    RETURN QUERY
      DELETE FROM recollect.subject_keys k WHERE k.space = place AND k.pseudonym = subject
      RETURNING k.pseudonym;
  END LOOP;
END
$$;

-- Refuses an encrypted body that no client could ever read: one whose subject or key is not known here, or
-- that is not in the form that a reader asks for.
CREATE FUNCTION recollect.check_encrypted(
  number bigint, place bigint, subject text, version text, body bytea
) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  inner_text text := encode(substring(body FROM 2 FOR length(body) - 2), 'escape');
BEGIN
  IF coalesce(
    length(inner_text) < 40 OR length(inner_text) % 4 <> 0
    OR substring(body FROM 1 FOR 1) <> convert_to('"', 'UTF8')
    OR substring(body FROM length(body)) <> convert_to('"', 'UTF8')
    OR translate(
      rtrim(inner_text, '='), 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', ''
    ) <> '', true
  ) OR replace(encode(decode(inner_text, 'base64'), 'base64'), chr(10), '') <> inner_text THEN
    RAISE EXCEPTION 'the body of event % is not encrypted as its header says', number
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NOT EXISTS (
    SELECT 1 FROM recollect.subject_keys k
    WHERE k.space = place AND k.pseudonym = subject AND k.cipher::text = version
  ) AND NOT EXISTS (
    SELECT 1 FROM recollect.destroyed_keys d WHERE d.space = place AND d.pseudonym = subject
  ) THEN
    RAISE EXCEPTION 'the subject of event % is not known', number
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
END
$$;

-- Which kinds may be encrypted: those about what a user has. The store's own, and what belongs to the whole
-- space, must be readable without a key.
ALTER TABLE recollect.kinds ADD COLUMN encrypts boolean NOT NULL DEFAULT false;
UPDATE recollect.kinds SET encrypts = true
WHERE name ~ '^(record|episode|link|session|proposal|branch)[.]'
  OR name IN ('context.handed', 'lineage.retracted');

-- Five places of append() change: the form of a header, that of a body, the trust that a body claims, which
-- kinds may be encrypted, and the revision that a client must know to read the space.
DO $$
DECLARE
  before text := pg_get_functiondef('recollect.append(bytea[])'::regprocedure);
  after text := before;
  change record;
BEGIN
  FOR change IN SELECT * FROM (VALUES
    (E'  erased boolean;\n', E'  erased boolean;\n'
      '  encrypted boolean;\n  subject text;\n  version text; -- of its key\n  whose text; -- both, as a header has them\n'),
    ($r$'","subject":null,"cipher":null,"body":"'$r$,
$r$whose$r$),
    (E'    committed := left(right(rest, 140), 64);\n',
$r$    committed := left(right(rest, 140), 64);
    encrypted := split_part(rest, '"', 16) = ':';
    subject := CASE WHEN encrypted THEN split_part(rest, '"', 17) END;
    version := CASE WHEN encrypted THEN trim(':,' FROM split_part(rest, '"', 20)) END;
    whose := '","subject":null,"cipher":null,"body":"';
    IF encrypted THEN
      whose := '","subject":"' || subject || '","cipher":' || version || ',"body":"';
      newest := greatest(newest, '0017');
    END IF;
$r$),
    (E'      OR rule.name IS NULL\n',
$r$      OR rule.name IS NULL
      OR (encrypted AND (
        NOT rule.encrypts OR length(subject) <> 32 OR translate(subject, digits || 'abcdef', '') <> ''
        OR length(version) NOT BETWEEN 1 AND 9 OR translate(version, digits, '') <> ''
        OR left(version, 1) = '0'
      ))
$r$),
    (E'    ELSE\n      body := convert_from(',
$r$    ELSIF encrypted THEN
      body := NULL;
      PERFORM recollect.check_encrypted(
        number, head.id, subject, version, substring(line FROM cut + 124 FOR length(line) - cut - 124)
      );
    ELSE
      body := convert_from($r$),
    (E'rule.carries_trust AND ceiling <> ''person'' AND NOT erased THEN',
      E'rule.carries_trust AND ceiling <> ''person'' AND NOT erased AND NOT encrypted THEN')
  ) AS changes (was, is_now) LOOP
    IF position(change.was IN after) = 0 THEN
      RAISE EXCEPTION 'append() is not as the revisions before made it';
    END IF;
    after := replace(after, change.was, change.is_now);
  END LOOP;
  EXECUTE after;
END
$$;

REVOKE ALL ON recollect.subject_keys, recollect.destroyed_keys FROM PUBLIC;
REVOKE ALL ON FUNCTION recollect.here_to_encrypt(text),
  recollect.keep_subject(text, integer, bytea, bytea, bytea, text),
  recollect.destroy_subjects(text[], bigint),
  recollect.check_encrypted(bigint, bigint, text, text, bytea) FROM PUBLIC;
GRANT SELECT ON recollect.subject_keys, recollect.destroyed_keys TO recollect_app;
GRANT EXECUTE ON FUNCTION recollect.keep_subject(text, integer, bytea, bytea, bytea, text),
  recollect.destroy_subjects(text[], bigint) TO recollect_app;
