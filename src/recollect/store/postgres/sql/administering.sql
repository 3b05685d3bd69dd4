-- Tokens that look after tokens (decision 57). A service logs in as a role that may do nothing, and passes the
-- token of each caller on: nothing here needs the owner's login. A new token comes as its hash, so that this
-- server sees a token only when it is used.
--
-- Two verbs are new: review, to let in or turn down what waits for a person, and admin, to create, list, rotate
-- and revoke tokens. A token never makes one that allows more than itself, and a token of another space looks
-- like one that is not there.

-- What could be reviewed with a token stays so.
UPDATE recollect.tokens SET verbs = verbs || '{review}'
WHERE origin = 'person' AND 'write' = ANY (verbs) AND NOT 'review' = ANY (verbs);

-- An approval is a review. So is what lets a record in; the event that puts it back as it was is not.
ALTER TABLE recollect.kinds DROP CONSTRAINT kinds_verb_check,
  ADD CONSTRAINT kinds_verb_check CHECK (verb IN ('write', 'erase', 'review'));
UPDATE recollect.kinds SET verb = 'review' WHERE name = 'proposal.approved';
DO $$
DECLARE
  before text := pg_get_functiondef('recollect.append(bytea[])'::regprocedure);
  after text := replace(before, E'    IF rule.verb <> ''write'' THEN',
$r$    IF kind = 'record.reviewed' AND NOT erased AND body ->> 'verdict' IS DISTINCT FROM 'reopened' THEN
      PERFORM recollect.require('review');
    END IF;
    IF rule.verb <> 'write' THEN$r$);
BEGIN
  IF before = after THEN
    RAISE EXCEPTION 'append() is not as the revisions before made it';
  END IF;
  EXECUTE after;
END
$$;

-- True if a token is neither revoked nor expired.
CREATE FUNCTION recollect.is_live(revoked timestamptz, expires timestamptz) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
  SELECT revoked IS NULL AND (expires IS NULL OR expires > clock_timestamp())
$$;

-- What lists show: everything but the hash and the key.
CREATE VIEW recollect.shown_tokens AS
SELECT t.id, t.label, coalesce(s.name, d.name) AS space, t.verbs, t.origin, t."user", t.agent, t.made,
  t.expires, t.revoked, recollect.is_live(t.revoked, t.expires) AS live
FROM recollect.tokens t LEFT JOIN recollect.spaces s ON s.id = t.space
  LEFT JOIN recollect.dropped d ON d.id = t.space;

-- What a token allows, for the one who holds it; nothing if it has ended.
CREATE FUNCTION recollect.token_of(token text) RETURNS SETOF recollect.shown_tokens
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT v.* FROM recollect.shown_tokens v JOIN recollect.tokens t ON t.id = v.id
  WHERE t.hash = sha256(convert_to(token, 'UTF8')) AND v.live
$$;

-- The token of a caller that may look after others.
CREATE FUNCTION recollect.admin_of(token text) RETURNS recollect.tokens
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens;
BEGIN
  SELECT * INTO mine FROM recollect.tokens t
  WHERE t.hash = sha256(convert_to(token, 'UTF8')) AND recollect.is_live(t.revoked, t.expires)
    AND 'admin' = ANY (t.verbs) AND t.origin = 'person' AND t."user" IS NULL AND t.agent IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN mine;
END
$$;

CREATE FUNCTION recollect.tokens_for(token text) RETURNS SETOF recollect.shown_tokens
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.admin_of(token);
BEGIN
  RETURN QUERY SELECT v.* FROM recollect.shown_tokens v JOIN recollect.tokens t ON t.id = v.id
  WHERE mine.every_space OR t.space = mine.space ORDER BY v.id;
END
$$;

-- Creates a token; its space too, if the caller may create spaces.
CREATE FUNCTION recollect.create_token(
  token text, fresh bytea, called text, named text, may text[], ceiling text, whose text, who text,
  until timestamptz, OUT id bigint, OUT made timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.admin_of(token);
  place bigint;
BEGIN
  IF coalesce(
    NOT may <@ mine.verbs OR NOT 'read' = ANY (may) OR (named IS NULL AND NOT mine.every_space)
    OR (named IS NOT NULL AND 'create' = ANY (may))
    OR (may && '{drop,review,admin}' AND ceiling <> 'person')
    OR (may && '{drop,admin}' AND (whose IS NOT NULL OR who IS NOT NULL))
    OR (mine.expires IS NOT NULL AND coalesce(until > mine.expires, true)), true
  ) THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF coalesce(length(fresh) <> 32 OR length(called) NOT BETWEEN 1 AND 1000, true) THEN
    RAISE EXCEPTION 'not a token' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF named IS NOT NULL THEN
    IF mine.every_space AND 'create' = ANY (mine.verbs) THEN
      INSERT INTO recollect.spaces (name) VALUES (named) ON CONFLICT (name) DO NOTHING;
    END IF;
    SELECT s.id INTO place FROM recollect.spaces s
    WHERE s.name = named AND (mine.every_space OR s.id = mine.space);
    IF NOT FOUND THEN
      RAISE EXCEPTION 'no such space' USING ERRCODE = 'no_data_found';
    END IF;
  END IF;
  INSERT INTO recollect.tokens AS t (
    hash, label, every_space, space, verbs, origin, "user", agent, expires
  )
  VALUES (fresh, called, named IS NULL, place, may, ceiling, whose, who, until)
  RETURNING t.id, t.made INTO id, made;
END
$$;

-- Creates a token like another one, valid for as long as that was; the other one ends after the overlap.
CREATE FUNCTION recollect.rotate_token(token text, which bigint, fresh bytea, overlap_s bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.admin_of(token);
  old recollect.tokens;
BEGIN
  SELECT * INTO old FROM recollect.tokens t
  WHERE t.id = which AND (mine.every_space OR t.space = mine.space) FOR UPDATE;
  IF NOT FOUND OR NOT recollect.is_live(old.revoked, old.expires) THEN
    RAISE EXCEPTION 'no such token' USING ERRCODE = 'no_data_found';
  END IF;
  IF NOT old.verbs <@ mine.verbs THEN
    RAISE EXCEPTION 'not allowed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF coalesce(length(fresh) <> 32 OR overlap_s NOT BETWEEN 0 AND 2592000, true) THEN
    RAISE EXCEPTION 'not a token' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  UPDATE recollect.tokens t SET
    expires = least(t.expires, now() + make_interval(secs => overlap_s)),
    revoked = CASE WHEN overlap_s = 0 THEN now() END
  WHERE t.id = old.id;
  INSERT INTO recollect.tokens (hash, label, every_space, space, verbs, origin, "user", agent, expires)
  VALUES (
    fresh, old.label, old.every_space, old.space, old.verbs, old.origin, old."user", old.agent,
    now() + (old.expires - old.made)
  );
END
$$;

-- Revokes tokens; tells how many.
CREATE FUNCTION recollect.revoke_tokens(token text, which bigint[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine recollect.tokens := recollect.admin_of(token);
  revoked_count bigint;
BEGIN
  UPDATE recollect.tokens t SET revoked = now()
  WHERE t.id = ANY (which) AND t.revoked IS NULL AND (mine.every_space OR t.space = mine.space);
  GET DIAGNOSTICS revoked_count = ROW_COUNT;
  RETURN revoked_count;
END
$$;

REVOKE ALL ON recollect.shown_tokens FROM PUBLIC;
REVOKE ALL ON FUNCTION recollect.is_live(timestamptz, timestamptz), recollect.token_of(text),
  recollect.admin_of(text), recollect.tokens_for(text),
  recollect.create_token(text, bytea, text, text, text[], text, text, text, timestamptz),
  recollect.rotate_token(text, bigint, bytea, bigint), recollect.revoke_tokens(text, bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.token_of(text), recollect.tokens_for(text),
  recollect.create_token(text, bytea, text, text, text[], text, text, text, timestamptz),
  recollect.rotate_token(text, bigint, bytea, bigint), recollect.revoke_tokens(text, bigint[])
  TO recollect_app;
