-- Views of the entered space beyond its tables. Runs after the script that locks those: each view reads
-- as its caller and through the tables' own views, so their policies hold for all that it shows.

-- Versions as they are read, each with its text. A long text lies only in the row of the event that
-- brought it, and is looked up for the others: in a row of the same record, which has the same user.
CREATE VIEW recollect_here.full_versions WITH (security_invoker) AS SELECT
  /* columns: v before text */,
  COALESCE(v.text, (
    SELECT t.text FROM recollect_here.versions t WHERE t.seq = v.text_seq AND t.id = v.id
  )) AS text,
  /* columns: v after text */
FROM recollect_here.versions v;
GRANT SELECT ON recollect_here.full_versions TO recollect_app;
