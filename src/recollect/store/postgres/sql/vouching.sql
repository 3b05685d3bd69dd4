-- What a person writes is vouched for in the same append (decision 70). It is no review of what others wrote, so
-- it needs the verb write alone; it lets nothing in that is held, which the fold judges.

INSERT INTO recollect.kinds (name, since, carries_trust, needs, verb, system, encrypts) VALUES
  ('record.vouched', '0021', false, 'person', 'write', NULL, true);
