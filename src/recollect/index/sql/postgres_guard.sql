-- Locks every table of spaces that has no lock yet, and gives it a view of the space that was entered:
-- of what begins with a space nothing can be forgotten. Runs after the scripts that make such tables.

DO $$
DECLARE
  name text;
  columns text;
BEGIN
  FOR name IN
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = 1
    WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' AND a.attname = 'space'
      AND NOT c.relrowsecurity
    ORDER BY c.relname
  LOOP
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
