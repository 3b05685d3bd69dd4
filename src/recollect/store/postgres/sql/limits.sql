-- A token means what it says, against SQL of the caller's own too. The mark covers the token's id, user
-- and agent; a token that is revoked or has expired makes no mark; append() judges what a limited token
-- may say. Which rows of the index a token for one user sees and writes stands in
-- index/sql/postgres_guard.sql.

-- Marks are signed with a key of the token's own, so that one look finds the key and whether the token
-- is alive. The secret that all of them shared has had its time.
ALTER TABLE recollect.tokens ADD COLUMN key bytea NOT NULL DEFAULT
  sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));

-- The mark of this transaction: over the space, the backend, the instant at which the transaction
-- began, and the settings that say what the token allows. NULL unless that token is alive. Every call
-- looks at the token again, so a statement that begins after its end finds nothing.
DROP FUNCTION recollect.sign(bigint, text);
CREATE FUNCTION recollect.sign(space bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  token text := current_setting('recollect.token', true);
  "user" text := current_setting('recollect.user', true);
  key bytea;
BEGIN
  IF token <> '' THEN
    SELECT t.key INTO key FROM recollect.tokens t
    WHERE t.id = token::bigint AND t.revoked IS NULL
      AND (t.expires IS NULL OR t.expires > clock_timestamp());
  END IF;
  RETURN encode(sha256(
    key || int8send(space) || int4send(pg_backend_pid())
    || timestamptz_send(transaction_timestamp())
    || convert_to( -- the length keeps user and agent apart, whatever they hold
      token || ':' || current_setting('recollect.rights', true) || ':' || length("user") || ':'
      || "user" || current_setting('recollect.agent', true), 'UTF8'
    )
  ), 'hex');
END
$$;
REVOKE ALL ON FUNCTION recollect.sign(bigint) FROM PUBLIC;
DROP TABLE recollect.secret;

CREATE OR REPLACE FUNCTION recollect.here() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  setting text := current_setting('recollect.space', true);
BEGIN
  IF setting <> '' AND current_setting('recollect.mark', true) = recollect.sign(setting::bigint) THEN
    RETURN setting::bigint;
  END IF;
  RETURN NULL;
END
$$;

-- The user that the entered token is for; NULL if it is for all of them.
CREATE FUNCTION recollect.here_user() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN CASE
    WHEN recollect.here() IS NOT NULL THEN nullif(current_setting('recollect.user', true), '')
  END;
END
$$;

-- What policies ask to know whether a statement runs with a token for one user. It is text, because a
-- function would be planned again with each statement. The setting proves nothing by itself: they take it
-- together with here(), in one subselect, so that no part of a statement can change it between the two.
-- Our own functions, which run as the owner, see the whole space: a role that may read the keys of tokens
-- could sign any mark.
CREATE FUNCTION recollect.limited() RETURNS text LANGUAGE sql IMMUTABLE RETURN
  $q$current_setting('recollect.user', true) <> ''
  AND NOT has_table_privilege('recollect.tokens', 'SELECT')$q$;

CREATE OR REPLACE FUNCTION recollect.enter(
  named text, token text, writing boolean,
  OUT space bigint, OUT seq bigint, OUT hash text, OUT at text,
  OUT verbs text[], OUT origin text, OUT "user" text, OUT agent text
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  id bigint;
BEGIN
  SELECT s.id, s.seq, s.hash, s.at, t.verbs, t.origin, t."user", t.agent, t.id
  INTO space, seq, hash, at, verbs, origin, "user", agent, id
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
    SELECT s.seq, s.hash, s.at INTO seq, hash, at FROM recollect.spaces s
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

-- A writing transaction sees what was committed before each of its statements: in another isolation
-- level it would not see that its token was revoked.
CREATE OR REPLACE FUNCTION recollect.require(verb text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  rights text := current_setting('recollect.rights', true);
BEGIN
  IF recollect.here() IS NULL
    OR NOT verb = ANY (string_to_array(split_part(rights, ':', 2), ',')) THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'a writing transaction is READ COMMITTED'
      USING ERRCODE = 'invalid_transaction_state';
  END IF;
  RETURN split_part(rights, ':', 1);
END
$$;

-- What a body says, as append() keeps it: after the salt, without the last brace. NULL if it was erased.
CREATE FUNCTION recollect.said_in(body bytea) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN CASE WHEN position(convert_to(',"salt":"', 'UTF8') IN body) = 1
    THEN convert_from(substring(body FROM 51 FOR length(body) - 51), 'UTF8')::jsonb
  END;
END
$$;

-- The user whose event it is; NULL for nobody's, and for what was erased.
CREATE FUNCTION recollect.user_in(body bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE COST 1 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN recollect.said_in(body) ->> 'user';
END
$$;

-- True if an event is about this user's memory alone: its user is this one or none, and none of the
-- ids it names is another user's.
CREATE FUNCTION recollect.is_own_subject(kind text, body jsonb, whose text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN CASE
    WHEN body IS NULL OR body ->> 'user' <> whose THEN false
    WHEN kind = 'context.handed' THEN body ->> 'user' = whose
      AND NOT recollect.is_others_receipt(body ->> 'id')
    WHEN kind LIKE 'link.%' THEN
      NOT recollect.is_others(body ->> 'source') AND NOT recollect.is_others(body ->> 'target')
    WHEN kind LIKE 'record.%' OR kind LIKE 'episode.%' THEN NOT recollect.is_others(body ->> 'id')
      AND NOT recollect.is_others(coalesce(body ->> 'by', ''))
      AND NOT recollect.is_others(coalesce(body ->> 'supersedes', ''))
    ELSE false
  END;
END
$$;

-- True if a user may erase an event of the entered space: it is about this user's memory, or it is a
-- link that leads to or from it.
CREATE FUNCTION recollect.is_own_event(target bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  me text := recollect.here_user();
  kind text;
  body jsonb;
BEGIN
  SELECT split_part(split_part(encode(e.header, 'escape'), '"kind":"', 2), '"', 1),
    recollect.said_in(e.body)
  INTO kind, body FROM recollect.events e WHERE e.space = recollect.here() AND e.seq = target;
  RETURN recollect.is_own_subject(kind, body, me) OR (
    kind LIKE 'link.%' AND coalesce(body ->> 'user', me) = me
    AND NOT (recollect.is_others(body ->> 'source') AND recollect.is_others(body ->> 'target'))
  );
END
$$;

-- Refuses an event that the entered token may not bring: one of another user or agent, one about
-- another user's memory, or one that no source of this trust ever makes. Whose memory something is
-- stands in the index; a token for one user can neither change nor remove another's rows there, and
-- it is refused while the index is behind.
CREATE FUNCTION recollect.judge(
  number bigint, head bigint, kind text, body jsonb, ceiling text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  me text := nullif(current_setting('recollect.user', true), '');
  mine text := nullif(current_setting('recollect.agent', true), '');
  opens boolean := kind = 'space.opened' AND number = 1;
  allowed boolean;
BEGIN
  IF ceiling = 'unverified' AND (
    kind IN ('frame.set', 'frame.dropped', 'record.reinforced', 'record.superseded')
    OR (kind = 'record.added' AND (body ->> 'status' <> 'held' OR body ? 'supersedes'))
  ) THEN
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

-- How far ahead of this server's clock an event may be dated. One that is far ahead would date
-- everything after it, for good.
CREATE FUNCTION recollect.latest_instant() RETURNS text
LANGUAGE sql VOLATILE RETURN to_char(
  clock_timestamp() AT TIME ZONE 'UTC' + interval '5 minutes', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
);

-- Two places of append() change: instants that are ahead, and the judge. The rest of it stays as the
-- revisions before made it.
DO $$
DECLARE
  before text := pg_get_functiondef('recollect.append(bytea[])'::regprocedure);
  in_time text := replace(before, E'    before := instant;\n',
$r$    IF instant COLLATE "C" > head.at COLLATE "C"
      AND instant COLLATE "C" > recollect.latest_instant() COLLATE "C" THEN
      RAISE EXCEPTION 'event % is dated %, ahead of this server''s clock', number, instant
        USING ERRCODE = 'datetime_field_overflow';
    END IF;
    before := instant;
$r$);
  after text := replace(in_time, E'    said := origin || '' '' || kind;\n',
$r$    IF ceiling = 'unverified' OR current_setting('recollect.user', true) <> ''
      OR current_setting('recollect.agent', true) <> '' THEN
      PERFORM recollect.judge(
        number, head.seq, kind, CASE WHEN NOT erased THEN body END, ceiling
      );
    END IF;
    said := origin || ' ' || kind;
$r$);
BEGIN
  IF before = in_time OR in_time = after THEN
    RAISE EXCEPTION 'append() is not as the revisions before made it';
  END IF;
  EXECUTE after;
END
$$;

-- The append, and where the index then stands: one call, because most writes are small. The place
-- follows the ledger, so no caller can claim another one.
CREATE FUNCTION recollect.append_and_move(lines bytea[], active bigint, size bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM recollect.append(lines);
  UPDATE recollect.position p
  SET seq = s.seq, hash = s.hash, at = s.at, active_us = active, "offset" = size
  FROM recollect.spaces s
  WHERE s.id = recollect.here() AND p.space = s.id AND p.seq = s.seq - cardinality(lines);
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the index is behind the ledger'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
END
$$;

-- Of the ledger a token for one user reads the events of that user.
DROP POLICY entered ON recollect.events;
DO $$
BEGIN
  EXECUTE format(
    'CREATE POLICY entered ON recollect.events USING ('
    '(space, (SELECT %1$s) AND recollect.user_in(body) = (SELECT recollect.here_user()))'
    ' = (SELECT recollect.here(), %1$s)) WITH CHECK (space = (SELECT recollect.here()))',
    recollect.limited()
  );
END
$$;

REVOKE ALL ON FUNCTION recollect.here_user(), recollect.limited(), recollect.said_in(bytea),
  recollect.user_in(bytea), recollect.is_own_subject(text, jsonb, text),
  recollect.is_own_event(bigint), recollect.judge(bigint, bigint, text, jsonb, text),
  recollect.latest_instant(), recollect.append_and_move(bytea[], bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.here_user(), recollect.said_in(bytea),
  recollect.user_in(bytea), recollect.is_own_event(bigint),
  recollect.append_and_move(bytea[], bigint, bigint) TO recollect_app;

-- The index is made again, with the policies of this revision; each space folds its own again at its
-- next use.
DROP TABLE IF EXISTS recollect.index_version;
