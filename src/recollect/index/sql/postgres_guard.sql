-- Locks every table of spaces that has no lock yet, and gives it a view of the space that was entered:
-- of what begins with a space nothing can be forgotten. Runs after the scripts that make such tables.
--
-- First it says what the planner is to know of each column. Samples would tell one space about
-- another (decision 14), and without anything the planner takes every space for a two-hundredth of a
-- table. One row without content, analysed while the table is empty, leaves how many different values
-- a column is said to have (n_distinct) and nothing of a value; nothing is sampled afterwards, so it
-- stays. A space counts as the whole table, but for tables with a row or two of each: lookups by a
-- second column are then preferred to reading the space, however large it is.

DO $$
DECLARE
  name text;
  columns text;
  said text;
  cells text;
BEGIN
  FOR name IN
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = 1
    WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' AND a.attname = 'space'
      AND NOT c.relrowsecurity
    ORDER BY c.relname
  LOOP
    SELECT
      string_agg(format('ALTER COLUMN %I SET (n_distinct = %s)', a.attname, CASE
        WHEN a.attname = 'space' THEN
          CASE WHEN name IN ('position', 'shelves', 'embedders') THEN -0.5 ELSE 1 END
        WHEN a.attname IN (
          'version', 'until', 'what', 'origin', 'kind', 'source_type', 'is_hypothesis', 'status',
          'trust', 'decay_tier', 'role', 'why', 'shelf', 'embedder', 'dimensions'
        ) THEN 3
        WHEN a.attname IN ('user', 'agent') THEN 10
        WHEN a.attname IN ('session', 'tag', 'about') THEN -0.05
        ELSE -0.5
      END), ', '),
      string_agg(CASE t.typcategory
        WHEN 'N' THEN '0' WHEN 'S' THEN quote_literal('') ELSE quote_literal('[0]')
      END, ', ' ORDER BY a.attnum)
    INTO said, cells
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = format('recollect.%I', name)::regclass AND a.attnum > 0
      AND NOT a.attisdropped;
    EXECUTE format('ALTER TABLE recollect.%I %s', name, said);
    EXECUTE format('INSERT INTO recollect.%I VALUES (%s)', name, cells);
    EXECUTE format('ANALYZE recollect.%I', name);
    EXECUTE format('TRUNCATE recollect.%I', name);
    EXECUTE format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE recollect.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY entered ON recollect.%I FOR SELECT USING (space = (SELECT recollect.here()))',
      name
    );
    EXECUTE format(
      'CREATE POLICY added ON recollect.%I FOR INSERT'
      ' WITH CHECK (space = (SELECT recollect.here_to_write()))', name
    );
    EXECUTE format(
      'CREATE POLICY changed ON recollect.%I FOR UPDATE'
      ' USING (space = (SELECT recollect.here_to_write()))', name
    );
    EXECUTE format(
      'CREATE POLICY removed ON recollect.%I FOR DELETE'
      ' USING (space = (SELECT recollect.here_to_write()))', name
    );
    EXECUTE format(
      'GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.%I TO recollect_app', name
    );
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns
    FROM pg_attribute WHERE attrelid = format('recollect.%I', name)::regclass AND attnum > 1
      AND NOT attisdropped;
    EXECUTE format(
      'CREATE VIEW recollect_here.%I WITH (security_invoker) AS SELECT %s FROM recollect.%I'
      ' WHERE space = nullif(current_setting(''recollect.space'', true), '''')::bigint',
      name, columns, name
    );
    EXECUTE format(
      'GRANT SELECT, INSERT, UPDATE, DELETE ON recollect_here.%I TO recollect_app', name
    );
  END LOOP;
END
$$;
