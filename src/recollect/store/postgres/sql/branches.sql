-- Branches: two kinds of events, which say when a line of proposals began and how it ended. That only a
-- person merges is judged by the fold, and each approval beside it needs a person here too.

INSERT INTO recollect.kinds (name, since, carries_trust, needs, verb, system) VALUES
  ('branch.opened', '0015', false, 'agent', 'write', NULL),
  ('branch.closed', '0015', false, 'agent', 'write', NULL);

-- One case of is_own_subject() is new: a token for one user opens and closes branches of that user alone.
DO $$
DECLARE
  before text := pg_get_functiondef('recollect.is_own_subject(text, jsonb, text)'::regprocedure);
  after text := replace(before, E'    ELSE false\n',
$r$    WHEN kind LIKE 'branch.%' THEN body ->> 'user' = whose
      AND NOT recollect.is_others_branch(body ->> 'id')
    ELSE false
$r$);
BEGIN
  IF after = before THEN
    RAISE EXCEPTION 'is_own_subject() is not as it was';
  END IF;
  EXECUTE after;
END
$$;
