-- Sessions: two kinds of events, which say when work began and ended, so an agent or a person brings
-- them. A session belongs to its event's user, so whose it is stands in the event itself.

INSERT INTO recollect.kinds (name, since, carries_trust, needs, verb, system) VALUES
  ('session.opened', '0011', false, 'agent', 'write', NULL),
  ('session.closed', '0011', false, 'agent', 'write', NULL);

-- One case of is_own_subject() is new: a token for one user opens, closes and erases that user's own.
DO $$
DECLARE
  before text := pg_get_functiondef('recollect.is_own_subject(text, jsonb, text)'::regprocedure);
  after text := replace(before, E'    ELSE false\n',
$r$    WHEN kind LIKE 'session.%' THEN body ->> 'user' = whose
    ELSE false
$r$);
BEGIN
  IF after = before THEN
    RAISE EXCEPTION 'is_own_subject() is not as it was';
  END IF;
  EXECUTE after;
END
$$;
