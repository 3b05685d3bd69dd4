-- What became of a token, for the one who holds it: live, expired or revoked and since when, or unknown.
-- It says nothing about spaces. A token is 256 random bits, so that asking cannot find another one.

CREATE FUNCTION recollect.token_state(token text, OUT state text, OUT since timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT
    CASE
      WHEN t.revoked IS NOT NULL THEN 'revoked'
      WHEN t.expires <= now() THEN 'expired'
      ELSE 'live'
    END,
    coalesce(t.revoked, t.expires)
  INTO state, since
  FROM recollect.tokens t WHERE t.hash = sha256(convert_to(token, 'UTF8'));
  IF NOT FOUND THEN
    state := 'unknown';
  END IF;
END
$$;

REVOKE ALL ON FUNCTION recollect.token_state(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.token_state(text) TO recollect_app;
