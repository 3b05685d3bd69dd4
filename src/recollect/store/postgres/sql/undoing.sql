-- Archiving, and taking back what was derived from something. Both are changes that can be undone, of
-- records that the writer may change: the fold judges each against its record.

INSERT INTO recollect.kinds (name, since, carries_trust, needs, verb, system) VALUES
  ('record.archived', '0014', false, 'unverified', 'write', NULL),
  ('lineage.retracted', '0014', false, 'unverified', 'write', NULL);

-- One case of is_own_subject() is new: this event names nothing but numbers of events.
DO $$
DECLARE
  before text := pg_get_functiondef('recollect.is_own_subject(text, jsonb, text)'::regprocedure);
  after text := replace(before, E'    ELSE false\n',
$r$    WHEN kind = 'lineage.retracted' THEN body ->> 'user' = whose
    ELSE false
$r$);
BEGIN
  IF after = before THEN
    RAISE EXCEPTION 'is_own_subject() is not as it was';
  END IF;
  EXECUTE after;
END
$$;
