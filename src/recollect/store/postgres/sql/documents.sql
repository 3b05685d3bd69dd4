-- Documents: two kinds of events, which change how a memory works, so an agent or a person brings them.

INSERT INTO recollect.kinds (name, since, carries_trust, needs, verb, system) VALUES
  ('document.set', '0007', true, 'agent', 'write', NULL),
  ('document.dropped', '0007', false, 'agent', 'write', NULL);
