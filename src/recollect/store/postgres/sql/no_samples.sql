-- No column of this schema is sampled for the planner, nor a column that an index computes: see
-- samples.sql and decision 14. Runs after everything that makes tables, so that no table, column or
-- index can be forgotten. The planner goes by its defaults, with which each statement takes the index
-- that begins with the space.

DO $$
DECLARE
  place record;
BEGIN
  FOR place IN
    SELECT c.oid::regclass AS name, a.attnum, a.attname, c.relkind IN ('i', 'I') AS is_index
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    WHERE c.relnamespace = 'recollect'::regnamespace AND a.attstattarget IS DISTINCT FROM 0
      AND (c.relkind IN ('r', 'p', 'm', 'f') OR i.indkey[a.attnum - 1] = 0)
  LOOP
    EXECUTE CASE
      WHEN place.is_index THEN
        format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS 0', place.name, place.attnum)
      ELSE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', place.name, place.attname)
    END;
  END LOOP;
END
$$;
