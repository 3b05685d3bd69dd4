-- Views of the entered space beyond its tables. Runs after the script that locks those: each view reads
-- as its caller and through the tables' own views, so their policies hold for all that it shows.

-- Versions as they are read, each with its text. A long text lies only in the row of the event that
-- brought it, and is looked up for the others: in a row of the same record, which has the same user.
CREATE VIEW recollect_here.full_versions WITH (security_invoker) AS SELECT
  v.id, v.seq, v.until, v.at, v.what, v.origin, v.note, v.created_at, v.text_seq,
  COALESCE(v.text, (
    SELECT t.text FROM recollect_here.versions t WHERE t.seq = v.text_seq AND t.id = v.id
  )) AS text,
  v.content_id, v.kind, v.key, v.about, v.tags, v."user", v.session, v.agent, v.confidence,
  v.source_type, v.evidence, v.is_hypothesis, v.status, v.reason, v.valid_from, v.valid_to,
  v.expires, v.trust, v.supersedes, v.superseded_by, v.reinforcement_count, v.last_reinforced_at,
  v.decay_tier, v.data
FROM recollect_here.versions v;
GRANT SELECT ON recollect_here.full_versions TO recollect_app;
