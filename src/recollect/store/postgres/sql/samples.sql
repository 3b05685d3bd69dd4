-- Nothing of what the ledger's tables hold stays in the planner's statistics. They are shared by all
-- spaces, and EXPLAIN tells what is in them: `=`, `<` and `^@` are leakproof, so the planner compares
-- any value with the samples of rows that row-level security hides.
--
-- From now on nothing is sampled (no_samples.sql, which runs after every change of the schema). What was
-- sampled before goes here: ANALYZE leaves the samples of a column that it no longer looks at, and only
-- a superuser deletes from pg_statistic, but a column that is given its own type again loses them and
-- keeps its rows and indexes as they are. What looks at a column must stand aside for that.
DROP POLICY entered ON recollect.events;
DROP TRIGGER erasure_is_there ON recollect.events;

DO $$
DECLARE
  place record;
BEGIN
  FOR place IN
    SELECT c.oid::regclass AS name, string_agg(
      format('ALTER COLUMN %I TYPE %s', a.attname, format_type(a.atttypid, a.atttypmod))
        || CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || l.collation ELSE '' END,
      ', ' ORDER BY a.attnum
    ) AS changes
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN LATERAL (
      SELECT format('%I.%I', n.nspname, o.collname) AS collation
      FROM pg_collation o JOIN pg_namespace n ON n.oid = o.collnamespace
      WHERE o.oid = a.attcollation
    ) l ON true
    WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r'
      AND c.relname IN ('revision', 'spaces', 'events', 'tokens', 'secret')
    GROUP BY c.oid ORDER BY c.oid
  LOOP
    EXECUTE format('ALTER TABLE %s %s', place.name, place.changes);
  END LOOP;
END
$$;

CREATE CONSTRAINT TRIGGER erasure_is_there AFTER INSERT ON recollect.events
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (position('\x2c22657261736564223a22'::bytea IN NEW.body) = 1)
EXECUTE FUNCTION recollect.erasure_is_there();
CREATE POLICY entered ON recollect.events
  USING (space = (SELECT recollect.here())) WITH CHECK (space = (SELECT recollect.here()));

-- The index is made again, and each space folds its own again at its next use: its samples go with its
-- tables.
DROP TABLE IF EXISTS recollect.index_version;
