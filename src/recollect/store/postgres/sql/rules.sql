-- Rules: one kind of event, which says how far a rule has looked. Rules belong to the whole space, so a
-- token for one user does not bring it.

INSERT INTO recollect.kinds (name, since, carries_trust, needs, verb, system) VALUES
  ('rule.passed', '0013', false, 'agent', 'write', NULL);
