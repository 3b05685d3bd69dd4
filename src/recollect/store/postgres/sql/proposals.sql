-- Proposals and reviews. Every writer may propose; only a person approves, rejects or reviews, also
-- with SQL of their own: append() reads the least trust of a writer here.

INSERT INTO recollect.kinds (name, since, carries_trust, needs, verb, system) VALUES
  ('proposal.made', '0012', true, 'unverified', 'write', NULL),
  ('proposal.approved', '0012', false, 'person', 'write', NULL),
  ('proposal.rejected', '0012', false, 'person', 'write', NULL),
  ('proposal.applied', '0012', false, 'agent', 'write', NULL),
  ('proposal.withdrawn', '0012', false, 'unverified', 'write', NULL),
  ('record.reviewed', '0012', true, 'person', 'write', NULL);

-- One case of is_own_subject() is new: a token for one user makes and settles proposals of that user alone.
DO $$
DECLARE
  before text := pg_get_functiondef('recollect.is_own_subject(text, jsonb, text)'::regprocedure);
  after text := replace(before, E'    ELSE false\n',
$r$    WHEN kind LIKE 'proposal.%' THEN NOT recollect.is_others_proposal(body ->> 'id')
      AND NOT recollect.is_others(coalesce(body ->> 'target', ''))
      AND NOT recollect.is_others(coalesce(body ->> 'record', ''))
    ELSE false
$r$);
BEGIN
  IF after = before THEN
    RAISE EXCEPTION 'is_own_subject() is not as it was';
  END IF;
  EXECUTE after;
END
$$;
