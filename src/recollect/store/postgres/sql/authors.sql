-- Events say who acted (decision 75). A body has a random id, and another event says whose id it is. So the name
-- can be erased, and what that person did stays. Every token that writes may add this event, because each one
-- writes in a name. A token for one user may name only that user, and may use no id of another author.

INSERT INTO recollect.kinds (name, since, carries_trust, needs, verb, system, encrypts) VALUES
  ('author.named', '0022', false, 'unverified', 'write', NULL, true);

DO $$
DECLARE
  before text := pg_get_functiondef('recollect.is_own_subject(text, jsonb, text)'::regprocedure);
  after text := replace(before, E'    ELSE false\n',
$r$    WHEN kind = 'author.named' THEN body ->> 'user' = whose AND body ->> 'name' = whose
      AND body ->> 'checked' = 'token' AND NOT recollect.is_others_author(body ->> 'id')
    ELSE false
$r$);
BEGIN
  IF after = before THEN
    RAISE EXCEPTION 'is_own_subject() is not as it was';
  END IF;
  EXECUTE after;
END
$$;

DO $$
DECLARE
  before text := pg_get_functiondef('recollect.judge(bigint, bigint, text, jsonb, text)'::regprocedure);
  after text := replace(before, E'  IF NOT allowed OR body ->> \'user\' IS DISTINCT FROM me THEN\n',
$r$  IF NOT allowed OR body ->> 'user' IS DISTINCT FROM me
    OR (body ? 'author' AND recollect.is_others_author(body ->> 'author')) THEN
$r$);
BEGIN
  IF after = before THEN
    RAISE EXCEPTION 'judge() is not as it was';
  END IF;
  EXECUTE after;
END
$$;

-- Who has the token that entered, and with which login.
CREATE FUNCTION recollect.token_holder(OUT label text, OUT "user" text, OUT login text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM recollect.here();
  SELECT t.label, t."user", session_user INTO label, "user", login
  FROM recollect.tokens t WHERE t.id = current_setting('recollect.token')::bigint;
END
$$;
REVOKE ALL ON FUNCTION recollect.token_holder() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.token_holder() TO recollect_app;
